import { pathToFileURL } from 'node:url'

/*
 * A gateway, whose program comes first among the arguments, that says on SIGUSR2 how long it held
 * its event loop at the worst since the last time, in milliseconds of CPU of that thread: what other
 * processes of the machine take away does not count.
 */
const [program = ''] = process.argv.splice(2, 1)
// What it starts by its own name, as the process that lints, is the program itself.
process.argv[1] = program
await import(pathToFileURL(program).href)

let longest = 0
let before = usedNow()
setInterval(() => {
  const now = usedNow()
  longest = Math.max(longest, now - before)
  before = now
}, 1).unref()

process.on('SIGUSR2', () => {
  process.stdout.write(`longest turn: ${longest.toFixed(3)} ms\n`)
  longest = 0
})

/** Milliseconds. */
function usedNow(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
