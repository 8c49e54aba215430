// Loaded before the gateway (NODE_OPTIONS=--import): Node 24 warns of a negative duration, and older versions are to be tested as well.
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'

const report = ms => {
  if (ms < 0) process.stderr.write(`A timer of ${ms} ms\n`)
}
const { setTimeout: globalTimer } = globalThis
globalThis.setTimeout = Object.assign((call, ms, ...args) => {
  report(ms)
  return globalTimer(call, ms, ...args)
}, globalTimer)
const { setTimeout: sleep } = timers
timers.setTimeout = (ms, ...args) => {
  report(ms)
  return sleep(ms, ...args)
}
syncBuiltinESMExports()
