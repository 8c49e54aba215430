// Runs built commands one after the other in a process that has loaded them already: a process for each costs a third of a second.
import { run } from '../../dist/main/run.js'

// Each command listens once for the end of the process and for failures of its output; here they add up.
for (const emitter of [process, process.stdout, process.stderr]) emitter.setMaxListeners(0)
process.on('message', async ({ args, env, cwd }) => {
  const printed = { stdout: '', stderr: '' }
  const undo = ['stdout', 'stderr'].map(name => collect(name, printed))
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
  process.chdir(cwd)
  const code = await run(args)
  for (const restore of undo) restore()
  process.send({ code, signal: null, ...printed })
})
process.on('disconnect', () => process.exit())

function collect(name, printed) {
  const { write } = process[name]
  process[name].write = (chunk, encoding, done) => {
    printed[name] += chunk
    const callback = typeof encoding === 'function' ? encoding : done
    if (callback) process.nextTick(callback)
    return true
  }
  return () => (process[name].write = write)
}
