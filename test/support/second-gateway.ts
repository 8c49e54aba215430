import { Writable } from 'node:stream'
import { openStorage } from '../../src/console/storage.ts'
import { startGateway } from '../../src/main.ts'
import { makeLog } from '../../src/platform/telemetry/log.ts'
import { loadConfig, type Role } from '../../src/settings/config.ts'
import { SHARED_SECRETS } from './secrets.ts'

export { SHARED_SECRETS } from './secrets.ts'

export type SecondGateway = { url: string; logs: () => string; stop: () => Promise<void> }

/** Another gateway on the database of the first, which has to be started with SHARED_SECRETS too. */
export async function startSecondGateway(
  databaseUrl: string,
  role: Role = 'api',
  env: Record<string, string> = {},
): Promise<SecondGateway> {
  const config = loadConfig({ DATABASE_URL: databaseUrl, PORT: '0', ...SHARED_SECRETS, ...env })
  const lines: string[] = []
  const destination = new Writable({ write: (chunk, _encoding, done) => done(void lines.push(String(chunk))) })
  const log = makeLog({ level: 'trace', pretty: false, destination })
  const storage = await openStorage(config, { use: 'gateway', logInfo: () => {}, onLost: () => {}, log })
  const gateway = await startGateway(config, storage, role, log)
  return {
    url: gateway.url,
    logs: () => lines.join(''),
    async stop() {
      await gateway.stop()
      await storage.close()
    },
  }
}
