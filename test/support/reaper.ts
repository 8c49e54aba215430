import { type ChildProcess, spawn } from 'node:child_process'

/** Reads `+pid` and `-pid`; when we are gone, however that came about, it ends those that are left. */
const SCRIPT = `
pids=' '
while read -r line; do
  case "$line" in
    +*) pids="$pids\${line#+} " ;;
    -*) pids=$(printf '%s' "$pids" | sed "s/ \${line#-} / /") ;;
  esac
done
for pid in $pids; do kill -9 "$pid" 2>/dev/null; done
`

let reaper: ChildProcess | null = null

/** A test process that is killed runs no clean-up; what it started must not outlive it. */
export function reapWithUs(child: ChildProcess): void {
  if (!child.pid) return
  reaper ??= startReaper()
  const tell = (text: string) => void reaper?.stdin?.write(`${text}\n`)
  tell(`+${child.pid}`)
  child.once('exit', () => tell(`-${child.pid}`))
}

function startReaper(): ChildProcess {
  // A group of its own, so that what ends the test does not end it first.
  const made = spawn('sh', ['-c', SCRIPT], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  made.stdin!.on('error', () => {})
  made.unref()
  // The pipe alone must not keep the test running.
  ;(made.stdin as unknown as { unref(): void }).unref()
  return made
}
