import { pathToFileURL } from 'node:url'

/*
 * Runs a gateway, whose program is the first argument. On SIGUSR2 it prints the longest time that
 * the event loop was blocked since the last signal, in CPU milliseconds of that thread: time that
 * other processes of the machine take does not count.
 */
const [program = ''] = process.argv.splice(2, 1)
// Child processes that the gateway starts by its own name, such as the linter, run the program.
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

/** CPU milliseconds used by this thread. */
function usedNow(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
