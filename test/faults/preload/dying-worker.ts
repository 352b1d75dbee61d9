import { existsSync, readFileSync, writeSync } from 'node:fs'

// Loaded before the program: on SIGUSR2, a worker ends itself in the way that a file names; in the
// way `at once`, each worker that starts aborts.

const flag = process.env['DYING_WORKER'] ?? ''
const wayOf = () => (existsSync(flag) ? readFileSync(flag, 'utf8') : '')

if (process.env['PORTCULLIS_WORKER'] !== undefined) {
  if (wayOf() === 'at once') process.abort()
  process.on('SIGUSR2', () => {
    const way = wayOf()
    if (way === 'abort') process.abort()
    // As V8 does when it finds a contradiction in its own state.
    writeSync(2, '#\n# Fatal error in , line 0\n# Check failed: a state of V8.\n#\n')
    process.kill(process.pid, 'SIGTRAP')
  })
}
