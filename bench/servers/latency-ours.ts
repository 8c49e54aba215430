import { ServerResponse } from 'node:http'
import { registerCompany } from '../../src/companies/changes.ts'
import { openStorage } from '../../src/console/storage.ts'
import { startGateway } from '../../src/main.ts'
import { makeLog } from '../../src/platform/telemetry/log.ts'
import { loadConfig } from '../../src/settings/config.ts'
import { providersOf, sent } from '../support/our-line.ts'

/**
 * The whole gateway in this process, with a provider that costs nothing. Prints its address and key; on SIGUSR2 it forgets,
 * on SIGTERM it prints how long each e-mail took from its 202 to the provider's call: 0 where the call came first.
 */
const config = loadConfig()
const log = makeLog({ level: config.LOG_LEVEL, pretty: false })
const storage = await openStorage(config, { use: 'gateway', logInfo: () => {}, onLost: () => {}, log })
const answeredMs = new Map<string, number>()
const calledMs = new Map<string, number>()
let waits: number[] = []
const providers = providersOf(async ({ outboxId }) => {
  const since = answeredMs.get(outboxId)
  if (since === undefined) calledMs.set(outboxId, performance.now())
  else waits.push(performance.now() - since)
  answeredMs.delete(outboxId)
  return sent()
})
const { end } = ServerResponse.prototype
ServerResponse.prototype.end = function (this: ServerResponse, ...given: unknown[]) {
  const outboxId = this.statusCode === 202 && /"outboxId":"([^"]+)"/.exec(String(given[0]))?.[1]
  if (outboxId && calledMs.delete(outboxId)) waits.push(0)
  else if (outboxId) answeredMs.set(outboxId, performance.now())
  return end.apply(this, given as never)
} as typeof end
const gateway = await startGateway(config, storage, 'all', log, async () => providers)
const { apiKey } = await registerCompany(storage.db, config.hashPepper, { name: 'bench' })
console.log(`${gateway.url}\n${apiKey}`)
process.on('SIGUSR2', () => {
  waits = []
})
process.on('SIGTERM', () => {
  // More than a pipe holds: who leaves at once takes the rest of it along.
  process.stdout.write(`waits ${JSON.stringify(waits)}\n`, () => process.exit(0))
})
