/**
 * A private certificate authority and a certificate of it, made anew by `openssl`.
 * @module test/support/fault-proxy-tls
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The host name that the certificate is for, beside 127.0.0.1. It resolves nowhere. */
export const TLS_HOST = 'sandbox.test'

/**
 * @typedef {object} Certificates
 * @property {string} key of the server, PEM
 * @property {string} cert of the server, PEM
 * @property {string} caFile path of the authority's certificate
 *
 * @returns {Certificates}
 */
export function makeCertificates() {
  const dir = mkdtempSync(join(tmpdir(), 'fault-proxy-'))
  process.once('exit', () => rmSync(dir, { recursive: true, force: true }))
  const file = name => join(dir, name)
  const openssl = (...args) => execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  openssl('req', '-x509', ...key, '-keyout', file('ca.key'), '-out', file('ca.pem'), '-days', '2', '-subj', '/CN=private authority')
  openssl('req', ...key, '-keyout', file('key.pem'), '-out', file('request.pem'), '-subj', `/CN=${TLS_HOST}`)
  writeFileSync(file('extensions'), `subjectAltName=DNS:${TLS_HOST},IP:127.0.0.1\nbasicConstraints=CA:FALSE\n`)
  openssl('x509', '-req', '-in', file('request.pem'), '-CA', file('ca.pem'), '-CAkey', file('ca.key'), '-CAcreateserial',
    '-out', file('cert.pem'), '-days', '2', '-extfile', file('extensions'))
  return { key: readFileSync(file('key.pem'), 'utf8'), cert: readFileSync(file('cert.pem'), 'utf8'), caFile: file('ca.pem') }
}
