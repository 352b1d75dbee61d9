import { existsSync, rmSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { joinBits, type LineBits } from '../line-bits.ts'
import { LineCoverage } from './line-coverage.ts'
import { declaredBy, describeError, type Failure, failRunning, runTests } from './node-test.ts'
import { CHILDREN_VARIABLE, MUTANT_VARIABLE, type Order, type Reply } from './orders.ts'

// Runs test files one after the other, as the parent process orders, each as often as it is ordered.
const NODE_TEST = new URL('./node-test.ts', import.meta.url).href

registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== 'node:test' || context.parentURL === NODE_TEST)
      return next(specifier, context)
    return { url: NODE_TEST, shortCircuit: true }
  },
})

// Code under test must not take this process for a worker of the gateway.
const send = process.send?.bind(process)
delete process.send

// A process for one mutant has it from the start, also while modules are loaded.
const fixed = Number(process.env[MUTANT_VARIABLE] ?? 0)
let mutant = fixed
globalThis.__mutant = (id) => id === mutant

let coverage: LineCoverage | undefined
let loaded: LineBits = {}

let uncaught: string | undefined
const noteUncaught = (error: unknown) => {
  uncaught ??= describeError(error)
  failRunning(error)
}
process.on('uncaughtException', noteUncaught)
process.on('unhandledRejection', noteUncaught)

const loadedFiles = new Set<string>()
let loads = 0

// Without its parent, this process and what tests have started are of no use.
process.on('disconnect', () =>
  process.kill(process.platform === 'win32' ? process.pid : -process.pid, 'SIGKILL'),
)
process.on('message', async (order: Order) => send?.(await run(order)))

async function run(order: Order): Promise<Reply> {
  const { file, records } = order
  const note = resolve(`../children-of-${process.pid}`)
  if (records) {
    coverage ??= new LineCoverage()
    process.env[CHILDREN_VARIABLE] = note
  }
  // Modules are loaded without the mutant, which would stay in them.
  if (!loadedFiles.has(file)) await declaredBy(() => load(file)).catch(() => {})
  loadedFiles.add(file)
  if (coverage !== undefined) loaded = joinBits(loaded, coverage.take())
  uncaught = undefined
  const start = performance.now()
  activate(order.mutant === 0 ? fixed : order.mutant)
  let failure: Failure | undefined
  try {
    failure = await runTests(await declaredBy(() => load(file)), order.limitMs)
  } catch (error) {
    failure = { name: '(loading)', error: describeError(error) }
  }
  const ms = performance.now() - start
  activate(fixed)
  const reached = coverage?.take() ?? {}
  const hasChildren = existsSync(note)
  rmSync(note, { force: true })
  if (uncaught !== undefined) failure ??= { name: '(uncaught)', error: uncaught }
  const memoryMb = process.memoryUsage.rss() / 2 ** 20
  return { failure, ms, loaded, reached, hasChildren, memoryMb }
}

function load(file: string): Promise<unknown> {
  return import(`${pathToFileURL(resolve(file)).href}?load=${++loads}`)
}

function activate(id: number): void {
  mutant = id
  process.env[MUTANT_VARIABLE] = String(id)
}
