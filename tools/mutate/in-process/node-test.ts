import { AsyncLocalStorage } from 'node:async_hooks'
import { mock as nodeMock } from 'node:test'

/**
 * Takes the place of node:test for files that run many times in one process. A file declares its
 * tests when it is loaded, and `runTests` runs them one after the other.
 */
interface Options {
  readonly skip?: boolean | string
  readonly todo?: boolean | string
  readonly timeout?: number
}

type Run = (context: TestContext, done: (error?: unknown) => void) => unknown
type Arguments =
  | [name: string | Run, options?: Options | Run, run?: Run]
  | [options: Options, run: Run]
type HookName = 'before' | 'after' | 'beforeEach' | 'afterEach'

interface Case {
  readonly name: string
  readonly options: Options
  readonly run: Run | undefined
  readonly parent: Group
}

export interface Group {
  readonly name: string
  readonly options: Options
  readonly parent: Group | undefined
  readonly children: (Group | Case)[]
  readonly hooks: Readonly<Record<HookName, Run[]>>
  /** Bodies of describe that are asynchronous. */
  readonly declaring: Promise<unknown>[]
}

export interface Failure {
  readonly name: string
  readonly error: string
}

type MockTracker = typeof nodeMock

export class TestContext {
  readonly name: string
  readonly mock: MockTracker
  readonly signal: AbortSignal
  readonly afterHooks: Run[]
  readonly #limitMs: number

  constructor(name: string, afterHooks: Run[], limitMs: number) {
    this.name = name
    this.afterHooks = afterHooks
    this.#limitMs = limitMs
    this.mock = Reflect.construct(nodeMock.constructor, []) as MockTracker
    this.signal = new AbortController().signal
  }

  after(hook: Run): void {
    this.afterHooks.push(hook)
  }

  async test(...declared: Arguments): Promise<void> {
    const { name, options, run } = read(declared)
    if (isSkipped(options)) return
    const context = new TestContext(name, this.afterHooks, this.#limitMs)
    await call(run, context, options.timeout ?? this.#limitMs)
  }

  // What node:test prints, and what it counts as skipped, does not matter here.
  diagnostic(): void {}
  skip(): void {}
  todo(): void {}
}

export const mock = nodeMock

const setTimeoutOfNode = setTimeout
const clearTimeoutOfNode = clearTimeout
const running = new AsyncLocalStorage<TestContext>()
let declaring: Group = group('', {}, undefined)

function group(name: string, options: Options, parent: Group | undefined): Group {
  const hooks = { before: [], after: [], beforeEach: [], afterEach: [] }
  return { name, options, parent, children: [], hooks, declaring: [] }
}

export function describe(...declared: Arguments): void {
  const { name, options, run } = read(declared)
  const parent = declaring
  const child = group(name, options, parent)
  parent.children.push(child)
  if (isSkipped(options)) return
  declaring = child
  try {
    const body = run?.(new TestContext(name, child.hooks.after, 0), () => {})
    if (body instanceof Promise) rootOf(child).declaring.push(body)
  } finally {
    declaring = parent
  }
}

export function it(...declared: Arguments): Promise<void> {
  declaring.children.push({ ...read(declared), parent: declaring })
  return Promise.resolve()
}

function skip(): void {}
describe.skip = skip
describe.todo = skip
it.skip = skip
it.todo = skip

export { describe as suite, it as test }

export function before(hook: Run): void {
  declaring.hooks.before.push(hook)
}

/** Within a test, a hook of that test. */
export function after(hook: Run): void {
  const context = running.getStore()
  if (context === undefined) declaring.hooks.after.push(hook)
  else context.after(hook)
}

export function beforeEach(hook: Run): void {
  declaring.hooks.beforeEach.push(hook)
}

export function afterEach(hook: Run): void {
  declaring.hooks.afterEach.push(hook)
}

/** The tests that are declared while `load` runs. */
export async function declaredBy(load: () => Promise<unknown>): Promise<Group> {
  const root = group('', {}, undefined)
  declaring = root
  await load()
  await Promise.all(root.declaring)
  return root
}

/** The first failure, after which nothing else runs except hooks that clean up. */
export async function runTests(root: Group, limitMs: number): Promise<Failure | undefined> {
  try {
    return await runGroup(root, limitMs)
  } finally {
    nodeMock.timers.reset()
    nodeMock.restoreAll()
  }
}

let interrupt: ((error: unknown) => void) | undefined

/** Fails the test that is running: for errors that no one catches. */
export function failRunning(error: unknown): void {
  interrupt?.(error)
}

async function runGroup(node: Group, limitMs: number): Promise<Failure | undefined> {
  const context = new TestContext(node.name, node.hooks.after, limitMs)
  const inside = async () => {
    for (const hook of node.hooks.before) await call(hook, context, limitMs)
  }
  let failure = await failureOf(`${pathOf(node)} (before)`, () => running.run(context, inside))
  for (const child of node.children) {
    if (failure !== undefined) break
    if (isSkipped(child.options)) continue
    failure = 'children' in child ? await runGroup(child, limitMs) : await runCase(child, limitMs)
  }
  for (const hook of node.hooks.after) {
    const end = await failureOf(`${pathOf(node)} (after)`, () => call(hook, context, limitMs))
    failure ??= end
  }
  return failure
}

async function runCase(test: Case, limitMs: number): Promise<Failure | undefined> {
  const name = pathOf(test)
  const context = new TestContext(test.name, [], limitMs)
  let failure = await failureOf(name, () =>
    running.run(context, async () => {
      for (const hook of inherited(test, 'beforeEach')) await call(hook, context, limitMs)
      await call(test.run, context, Math.min(test.options.timeout ?? limitMs, limitMs))
    }),
  )
  for (const hook of [...context.afterHooks, ...inherited(test, 'afterEach')]) {
    const end = await failureOf(name, () => call(hook, context, limitMs))
    failure ??= end
  }
  context.mock.timers.reset()
  context.mock.restoreAll()
  return failure
}

async function failureOf(name: string, run: () => Promise<void>): Promise<Failure | undefined> {
  try {
    await run()
    return undefined
  } catch (error) {
    return { name, error: describeError(error) }
  }
}

export function describeError(error: unknown): string {
  return String(error instanceof Error ? error.message : error).slice(0, 300)
}

async function call(run: Run | undefined, context: TestContext, limitMs: number): Promise<void> {
  if (run === undefined) return
  let timer: NodeJS.Timeout | undefined
  const stop = new Promise<never>((_, reject) => {
    interrupt = reject
    const expire = () => reject(new Error(`not over after ${limitMs} ms`))
    timer = setTimeoutOfNode(expire, limitMs)
  })
  try {
    await Promise.race([stop, begin(run, context)])
  } finally {
    clearTimeoutOfNode(timer)
    stop.catch(() => {})
    interrupt = undefined
  }
}

/** A function with two parameters ends when it calls the second. */
function begin(run: Run, context: TestContext): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const done = (error?: unknown) => {
      if (error === undefined || error === null) resolve(undefined)
      else reject(error)
    }
    const outcome = run(context, done)
    if (run.length < 2) resolve(outcome)
  })
}

function read(declared: Arguments): Pick<Case, 'name' | 'options' | 'run'> {
  const parts: readonly unknown[] = declared
  const run = parts.find((part): part is Run => typeof part === 'function')
  const options = parts.find((part): part is Options => typeof part === 'object') ?? {}
  const name = parts.find((part) => typeof part === 'string') ?? run?.name ?? ''
  return { name, options, run }
}

function isSkipped({ skip: reason, todo }: Options): boolean {
  return Boolean(reason) || Boolean(todo)
}

function inherited({ parent }: Case, name: 'beforeEach' | 'afterEach'): readonly Run[] {
  const groups: Group[] = []
  for (let at: Group | undefined = parent; at !== undefined; at = at.parent) groups.push(at)
  const outermostFirst = name === 'beforeEach' ? groups.toReversed() : groups
  return outermostFirst.flatMap(({ hooks }) => hooks[name])
}

function pathOf({ name, parent }: Case | Group): string {
  const path = parent === undefined ? '' : pathOf(parent)
  return path === '' ? name : `${path} › ${name}`
}

function rootOf(node: Group): Group {
  return node.parent === undefined ? node : rootOf(node.parent)
}
