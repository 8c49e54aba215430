import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from '../../src/platform/postgres/embedded/system.ts'

export type Certificates = { authorityFile: string; certificate: string; key: string; remove: () => Promise<void> }

/** An authority of one's own, and a certificate of it for one name. */
export async function makeCertificates(subjectAltName: string): Promise<Certificates> {
  const folder = await mkdtemp(join(tmpdir(), 'email-gateway-certificates-'))
  const file = (name: string) => join(folder, name)
  const openssl = async (...args: string[]) => {
    const { code, output } = await run('openssl', args)
    if (code !== 0) throw new Error(`openssl ${args[0]}: ${output}`)
  }
  const fresh = ['-newkey', 'rsa:2048', '-nodes', '-days', '2']
  await openssl('req', '-x509', ...fresh, '-subj', '/CN=authority', '-keyout', file('ca.key'), '-out', file('ca.crt'))
  await openssl('req', ...fresh.slice(0, 3), '-subj', '/CN=server', '-keyout', file('key'), '-out', file('csr'))
  await writeFile(file('ext'), `subjectAltName=${subjectAltName}\n`)
  const signed = ['-CA', file('ca.crt'), '-CAkey', file('ca.key'), '-CAcreateserial', '-days', '2']
  await openssl('x509', '-req', '-in', file('csr'), ...signed, '-extfile', file('ext'), '-out', file('crt'))
  return {
    authorityFile: file('ca.crt'),
    certificate: await readFile(file('crt'), 'utf8'),
    key: await readFile(file('key'), 'utf8'),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
