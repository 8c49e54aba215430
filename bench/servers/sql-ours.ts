import { registerCompany } from '../../src/companies/changes.ts'
import { openStorage } from '../../src/console/storage.ts'
import { startGateway } from '../../src/main.ts'
import { makeLog } from '../../src/platform/telemetry/log.ts'
import { loadConfig } from '../../src/settings/config.ts'
import { providersOf, sent } from '../support/our-line.ts'

/** The whole gateway in this process, with a provider that costs nothing, and one company. Prints its address. */
const config = loadConfig()
const log = makeLog({ level: config.LOG_LEVEL, pretty: false })
const storage = await openStorage(config, { use: 'gateway', logInfo: () => {}, onLost: () => {}, log })
const gateway = await startGateway(config, storage, 'all', log, async () => providersOf(async () => sent()))
await registerCompany(storage.db, config.hashPepper, { name: 'bench' })
console.log(gateway.url)
process.on('SIGTERM', () => process.exit(0))
