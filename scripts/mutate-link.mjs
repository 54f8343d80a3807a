/**
 * Shows that the link's tests see: breaks one rule of `crates/protocol` at a time, in a copy, and expects its tests to fail.
 *
 *   node scripts/mutate-link.mjs [name]
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const RULES = [
  ['a repeated frame is skipped', 'link/receive.rs', 'if offset + size <= self.received {', 'if false {'],
  ['a gap is noticed', 'link/receive.rs', 'if offset > self.received {', 'if false {'],
  ['late messages of an earlier attachment are ignored', 'link/receive.rs', '|| frame.message.attachment != self.attachment', ''],
  ['what is lost goes again', 'link/receive.rs', 'self.flight.resume(now, welcome.received)', 'self.flight.acknowledge(now, welcome.received, Duration::ZERO)'],
  ['nothing numbered goes before a later welcome', 'link/transmit.rs', 'if !first {', 'if false {'],
  ['what is lost goes before anything new', 'link/transmit.rs', 'if self.flight.has_backlog() {', 'if self.flight.has_backlog() && self.received % 2 == 0 {'],
  ['a partly acknowledged chunk is kept', 'flight.rs', 'if chunk.end() > offset {', 'if chunk.offset >= offset {'],
  ['an acknowledgement of nothing is an error', 'flight.rs', 'if offset > self.next {', 'if false {'],
  ['what is under way is bounded', 'flight.rs', 'self.load + more * load / plain < self.cap() + reserve && ', ''],
  ['what is kept is bounded', 'flight.rs', ' && self.in_flight() + more < CAP_MAX + reserve', ''],
  ['packed bytes are counted as they travel', 'flight.rs', 'chunk.weigh(bytes as u64, self.acked)', 'chunk.weigh(chunk.load, self.acked)'],
  ['what was sent on a lost connection is not on the way', 'flight.rs', '        self.load = 0;\n', ''],
  ['credit is told again to a new connection', 'link/connection.rs', 'self.credits = self.windows.limits().collect();', ''],
  ['credit bounds a stream', 'schedule.rs', 'bytes: outgoing.deficit.min(credit)', 'bytes: outgoing.deficit.max(1).min(credit.max(8))'],
  ['a peer beyond its credit is noticed', 'window.rs', 'if incoming.received > incoming.limit { Err(Overrun) } else { Ok(true) }', 'Ok(true)'],
  ['a consumer gives credit back', 'window.rs', 'incoming.limit = limit;\n        Some(limit)', 'None'],
  ['the window budget is shared', 'window.rs', '.min(BUDGET - self.lent)', ''],
  ['a stream with credit gets its turn again', 'schedule.rs', 'if outgoing.ready {\n                self.ready(stream);\n            }', ''],
  ['bulk streams take turns', 'schedule.rs', '} else if outgoing.deficit == 0 {', '} else if false {'],
  ['quiet streams go first', 'schedule.rs', 'self.fresh.push_back(stream);', 'self.bulk.push_back(stream);'],
  ['fragments outlive a connection', 'link/connection.rs', 'self.credits.clear();', 'self.credits.clear();\n        self.parts.clear();\n        self.parts_len = 0;'],
  ['the decoder outlives no connection', 'link/connection.rs', 'self.decoder = Decoder::default();\n        self.greeting = None;', 'self.greeting = None;'],
  ['a stream ends where its bytes end', 'window.rs', 'if incoming.received != offset {', 'if false {'],
  ['a token is asked for', 'link/connection.rs', '!same(&known, &hello.token)', 'false'],
  ['a copy of the sandbox is noticed', 'link/connection.rs', '*known != hello.sandbox', 'false'],
  ['another epoch is noticed', 'link/receive.rs', 'self.epoch != 0 && self.epoch != ready.epoch', 'false'],
  ['a nonce is used once', 'seal.rs', 'self.counter += 1;', ''],
  ['a long sleep is no silence', 'link/life.rs', 'self.silence += now.since(self.ticked).min(TICK);', 'self.silence += now.since(self.ticked);'],
  ['silence is noticed', 'link/life.rs', 'self.events.push_back(Event::Silent);', ''],
  ['a hostile peer leaves few messages unfinished', 'link/receive.rs', ' || self.parts.len() >= MAX_UNFINISHED', ''],
  ['a hostile peer overflows no offset', 'wire.rs', 'if offset >= MAX_OFFSET {', 'if false {'],
  ['a hostile peer unpacks no more than a body', 'pack.rs', 'if length > MAX_BODY {', 'if false {'],
  ['an environment is never packed', 'link/transmit.rs', 'if !has_control(&body)\n                && let', 'if let'],
  ['what stops shrinking is one cap too much at most', 'link/transmit.rs', '(cap / 4).min(self.flight.cap())', 'cap / 4'],
  ['memory is given back when it is quiet', 'link/life.rs', 'self.used = None;\n            self.give_back();', 'self.used = None;'],
  ['a lost connection keeps its memory', 'flight.rs', 'chunk.outlived = true;', ''],
  ['what does not shrink costs a sample', 'pack.rs', 'if !is_less(self.compress(sample)?, sample.len()) {', 'if false {'],
  ['what does not shrink goes plain', 'pack.rs', 'packed <= plain / 4 * 3', 'true'],
  ['a sent command is not taken back', 'link/streams.rs', 'if self.was_sent(command) {', 'if false {'],
]

const only = process.argv[2]
const folder = mkdtempSync(join(tmpdir(), 'mutate-link-'))
let unseen = 0
try {
  const copy = join(folder, 'protocol')
  for (const [rule, file, find, replace] of RULES.filter(([rule]) => only === undefined || rule.includes(only))) {
    rmSync(copy, { recursive: true, force: true })
    cpSync(join(root, 'crates/protocol'), copy, { recursive: true })
    writeFileSync(join(folder, 'Cargo.toml'), manifest())
    cpSync(join(root, 'Cargo.lock'), join(folder, 'Cargo.lock'))
    const path = join(copy, 'src', file)
    const source = readFileSync(path, 'utf8')
    if (source.split(find).length !== 2) throw new Error(`${rule}: the line to break stands ${source.split(find).length - 1} times in ${file}`)
    writeFileSync(path, source.replace(find, replace))
    const run = spawnSync('cargo', ['test', '--quiet', '--package', 'protocol', '--lib'], {
      cwd: folder, encoding: 'utf8', timeout: 300_000, env: { ...process.env, CARGO_TARGET_DIR: join(folder, 'target'), DSH_LINK_SCHEDULES: '400' },
    })
    if (/could not compile/.test(run.stderr)) throw new Error(`${rule}: the broken copy does not compile\n${run.stderr}`)
    const seen = run.status !== 0
    if (!seen) unseen++
    process.stdout.write(`${seen ? 'seen  ' : 'UNSEEN'}  ${rule}\n`)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exitCode = unseen > 0 ? 1 : 0

/** The workspace's manifest, with this one member. */
function manifest() {
  const whole = readFileSync(join(root, 'Cargo.toml'), 'utf8')
  const end = whole.indexOf('[package]')
  const profiles = whole.slice(whole.indexOf('[profile.dev]'), whole.indexOf('[profile.release]'))
  const curve = whole.slice(whole.indexOf('[profile.dev.package.protocol]'))
  return whole.slice(0, end).replace('members = ["crates/*"]', 'members = ["protocol"]').replace(/path = "crates\/[^"]*"/g, match => match.replace('crates/', '')) + profiles + curve
}
