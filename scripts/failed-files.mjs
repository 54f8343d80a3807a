/**
 * A reporter for Node's test runner: the files of failed tests, a line each.
 */
export default async function* failedFiles(events) {
  const seen = new Set()
  for await (const { type, data } of events) {
    if (type !== 'test:fail' || data.file === undefined || seen.has(data.file)) continue
    seen.add(data.file)
    yield `${data.file}\n`
  }
}
