import { openStorage } from '../../src/console/storage.ts'
import { startGateway } from '../../src/main.ts'
import { makeLog } from '../../src/platform/telemetry/log.ts'
import { loadConfig } from '../../src/settings/config.ts'
import { SHARED_SECRETS } from './secrets.ts'

export type TestWorker = { stop: () => Promise<void>; logs: () => string }

/** A worker beside an API gateway, on its database: what the lane does, without the API. */
export async function startWorker(
  { databaseUrl }: { databaseUrl: string },
  env: Record<string, string> = {},
): Promise<TestWorker> {
  const config = loadConfig({
    DATABASE_URL: databaseUrl,
    PORT: '0',
    ...SHARED_SECRETS,
    ...env,
  })
  const lines: string[] = []
  const log = makeLog({ level: 'debug', pretty: false, destination: { write: line => void lines.push(line) } })
  const storage = await openStorage(config, { use: 'gateway', logInfo: () => {}, onLost: () => {}, log })
  const worker = await startGateway(config, storage, 'worker', log)
  let stopped: Promise<void> | null = null
  const stop = async () => {
    await worker.stop()
    await storage.close()
  }
  return {
    logs: () => lines.join(''),
    stop() {
      stopped ??= stop()
      return stopped
    },
  }
}
