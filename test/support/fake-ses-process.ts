import { startFakeSes } from './fake-ses.ts'

/** `fake-ses-process.ts LOG_FILE [PORT]`: says its address in one line and runs until it is ended. */
const [logFile, port = '0'] = process.argv.slice(2)
if (!logFile) throw new Error('usage: fake-ses-process.ts LOG_FILE [PORT]')
const fake = await startFakeSes({ logFile, port: Number(port), keepBodies: false })
process.stdout.write(`fake SES at ${fake.url}\n`)
// Whoever started it may die without a word.
process.stdin.on('end', () => process.exit(0)).resume()
