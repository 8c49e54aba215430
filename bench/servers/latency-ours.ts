import { loadConfig } from '../../src/config.ts'
import { registerCompany } from '../../src/db/registration.ts'
import { openStorage, startGateway } from '../../src/main.ts'
import { makeLog } from '../../src/telemetry/log.ts'
import { providersOf, sent } from '../support/our-line.ts'

/**
 * The whole gateway in this process, with a provider that costs nothing. Prints its address and key; on SIGUSR2 it forgets,
 * on SIGTERM it prints how long each e-mail took from its commit to the provider's call.
 */
const config = loadConfig()
const log = makeLog({ level: config.LOG_LEVEL, pretty: false })
const storage = await openStorage(config, { use: 'gateway', say: () => {}, onLost: () => {}, log })
const acceptedMs = new Map<string, number>()
let waits: number[] = []
const providers = providersOf(
  async ({ outboxId }) => {
    waits.push(Date.now() - acceptedMs.get(outboxId)!)
    acceptedMs.delete(outboxId)
    return sent()
  },
  ticket => void acceptedMs.set(ticket.outboxId, ticket.createdAt.getTime()),
)
const gateway = await startGateway(config, storage, 'all', log, async () => providers)
const { apiKey } = await registerCompany(storage.db, config.hashPepper, { name: 'bench' })
console.log(`${gateway.url}\n${apiKey}`)
process.on('SIGUSR2', () => {
  waits = []
})
process.on('SIGTERM', () => {
  console.log(`waits ${JSON.stringify(waits)}`)
  process.exit(0)
})
