import {
  createServer,
  type ListenOptions as NetListenOptions,
  type Server,
  type Socket,
} from 'node:net'
import type { Program } from '../program/program.ts'
import type { AcceptDeps } from './accept-deps.ts'
import { BoundPort } from './bound-port.ts'
import { type PortPlan, planPorts } from './port-plan.ts'

/** A port that could not be had, or a listener's TLS: all of a Diagnostic but its code. */
export interface ListenFailure {
  readonly port: number
  /** `EADDRINUSE`, `EACCES`, …, or `certificate`. */
  readonly word: string
  readonly severity: 'error'
  readonly message: string
  readonly hint: string
  readonly origin: Program['diagnostics'][number]['origin']
}

export interface ListenOptions {
  /** `::` takes IPv4 too; `0.0.0.0` where the machine has no IPv6 or must not use it. */
  readonly host: string
  readonly backlog: number
  /** Several processes listen on the same ports. */
  readonly reusePort: boolean
  /** Milliseconds that connections of a port may go on when it is no longer there. */
  readonly grace: number
}

export interface SwapOptions {
  /** Called once nothing can fail any more. */
  readonly commit?: () => void
  /** Anything that fails leaves all as it is. */
  readonly isStrict?: boolean
}

/** All ports of the process. */
export class Listeners {
  readonly #acceptDeps: AcceptDeps
  readonly #options: ListenOptions
  readonly #ports = new Map<number, OpenPort>()
  /** Bound ports that are gone, until their last connection is. */
  readonly #leaving = new Set<BoundPort>()
  #swapping: Promise<unknown> = Promise.resolve()
  #isDraining = false

  constructor(acceptDeps: AcceptDeps, options: ListenOptions) {
    this.#acceptDeps = acceptDeps
    this.#options = options
  }

  /** How many connections are open, on whatever port. */
  get connections(): number {
    let count = 0
    for (const { bound } of this.#ports.values()) count += bound.open.size
    for (const bound of this.#leaving) count += bound.open.size
    return count
  }

  /** Counts the bytes of connections that are open, which may be so for days. */
  recordBytes(): void {
    const boundPorts = [...this.#leaving, ...[...this.#ports.values()].map(({ bound }) => bound)]
    for (const { open } of boundPorts) for (const accepted of open.members()) accepted.recordBytes()
  }

  /** The port that is really listened on, where the operating system was to choose one. */
  boundPort(port: number): number | undefined {
    const address = this.#ports.get(port)?.server.address()
    return typeof address === 'object' ? address?.port : undefined
  }

  /**
   * Ports that stay keep their sockets and connections and go on by the new Program; new ones are
   * opened, the others closed. Returns what could not be done. If it is strict, nothing is done
   * then; otherwise a listener without usable certificates closes its connections, a port that
   * cannot be had stays closed until the next swap, and all else is in effect.
   */
  swap(
    program: Program,
    { commit = () => {}, isStrict = true }: SwapOptions = {},
  ): Promise<readonly ListenFailure[]> {
    const swapped = this.#swapping.then(() => this.#swap(program, commit, isStrict))
    // One that throws is told of by whoever called; those after it are none of its business.
    this.#swapping = swapped.catch(() => {})
    return swapped
  }

  async #swap(
    program: Program,
    commit: () => void,
    isStrict: boolean,
  ): Promise<readonly ListenFailure[]> {
    if (this.#isDraining) {
      commit()
      return []
    }
    const { terminators, http2 } = this.#acceptDeps
    const plans = planPorts(program, (own) => terminators.get(own), http2 !== undefined)
    const insecure = [...plans.values()].flatMap(certificateFailures)
    const added = [...plans.values()].filter(({ port }) => !this.#ports.has(port))
    const opened = await Promise.all(added.map((plan) => this.#open(plan)))
    const unbound = opened.filter((own) => 'word' in own)
    const open = opened.filter((own) => 'server' in own)
    const failures = [...unbound, ...insecure]
    if (isStrict && failures.length > 0) {
      for (const { server } of open) server.close()
      return failures
    }
    try {
      commit()
    } catch (error) {
      for (const { server } of open) server.close()
      throw error
    }
    terminators.turn()
    for (const [port, own] of this.#ports) {
      const plan = plans.get(port)
      if (plan === undefined) this.#leave(port, own)
      else own.bound.update(plan, this.#options.grace)
    }
    for (const own of open) this.#ports.set(own.bound.plan.port, own)
    return failures
  }

  /**
   * Takes no more connections; idle ones close, the others are told to. Resolves when none is left,
   * or at the deadline, when the rest is cut. Returns how many were.
   */
  async drain(milliseconds: number): Promise<number> {
    this.#isDraining = true
    await this.#swapping
    for (const [port, open] of this.#ports) this.#leave(port, open)
    const empty = Promise.all([...this.#leaving].map((bound) => bound.drain()))
    await within(empty, milliseconds)
    const cut = this.connections
    for (const bound of this.#leaving) bound.destroy()
    await empty
    return cut
  }

  #leave(port: number, { server, bound }: OpenPort): void {
    this.#ports.delete(port)
    server.close()
    this.#leaving.add(bound)
    // A process that ends serves what is on its way; nobody is to be served where no listener is.
    const gone = within(bound.drain(!this.#isDraining), this.#options.grace)
    gone.then(() => {
      bound.destroy()
      this.#leaving.delete(bound)
    })
  }

  async #open(plan: PortPlan): Promise<OpenPort | ListenFailure> {
    const bound = new BoundPort(plan, this.#acceptDeps)
    const accept = (socket: Socket) => bound.accept(socket)
    const server = createServer({ allowHalfOpen: true, noDelay: true }, accept)
    const failed = await bind(server, plan.port, this.#options)
    if (failed !== undefined) return failureOf(plan, failed)
    // Out of descriptors (EMFILE, ENFILE) libuv empties the queue of the operating system with one
    // that it keeps for this, and closes what was in it; the next client finds things as they are
    // then. What else accept(2) may say is about one client alone. Nothing of it ends the process.
    server.on('error', () => {})
    return { server, bound }
  }
}

interface OpenPort {
  readonly server: Server
  readonly bound: BoundPort
}

async function bind(
  server: Server,
  port: number,
  { host, backlog, reusePort }: ListenOptions,
): Promise<string | undefined> {
  const options = { port, backlog, reusePort }
  if (host !== EVERYWHERE) return listen(server, { ...options, host })
  // Without a host Node listens on `::` and looks up nothing; to tell that `::` is an address takes
  // it longer than all the rest. Where it cannot, it takes IPv4 alone and does not say why.
  const failed = await listen(server, options)
  const address = server.address()
  if (failed !== undefined || (typeof address === 'object' && address?.family === 'IPv6')) {
    return failed
  }
  server.close()
  const why = await listen(server, { ...options, host })
  // A machine without IPv6 has no `::` to listen on.
  return why === 'EAFNOSUPPORT' ? listen(server, { ...options, host: '0.0.0.0' }) : why
}

const EVERYWHERE = '::'

function listen(server: Server, options: NetListenOptions): Promise<string | undefined> {
  return new Promise((resolve) => {
    const onError = (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message)
    server.once('error', onError)
    server.listen(options, () => {
      server.off('error', onError)
      resolve(undefined)
    })
  })
}

const WHY: Readonly<Record<string, readonly [string, string]>> = {
  EADDRINUSE: ['is already in use', 'stop the process that listens on it, or use another port'],
  EACCES: [
    'cannot be used by this user: permission denied',
    'use a port above 1023, or grant the process the capability NET_BIND_SERVICE',
  ],
  EADDRNOTAVAIL: [
    'cannot be bound: the address is not available on this machine',
    'check the listen address',
  ],
}

function certificateFailures({ port, terminators }: PortPlan): readonly ListenFailure[] {
  const hint = 'check the certificates, keys, cipher suites and groups in `tls`'
  return [...terminators].flatMap(([{ listener }, made]) => {
    if (typeof made !== 'string') return []
    const message = `cannot set up TLS for listener \`${listener.name}\`: ${made}`
    const { origin } = listener
    return [{ port, word: 'certificate', severity: 'error' as const, message, hint, origin }]
  })
}

function failureOf({ port, listeners }: PortPlan, word: string): ListenFailure {
  const [what, hint] = WHY[word] ?? [`cannot be bound (${word})`, 'use another port']
  const origin = (listeners[0] as PortPlan['listeners'][number]).listener.origin
  return { port, word, severity: 'error', message: `port ${port} ${what}`, hint, origin }
}

/** Resolves when the promise does, or when the time is over. */
async function within(promise: Promise<unknown>, milliseconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds)
  })
  await Promise.race([promise, over])
  clearTimeout(timer)
}
