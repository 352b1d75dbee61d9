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

/** A port that cannot be opened, or unusable TLS of a listener: a Diagnostic without its code. */
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
  /** `::` includes IPv4; `0.0.0.0` if the machine has no IPv6 or must not use it. */
  readonly host: string
  readonly backlog: number
  /** Whether several processes listen on the same ports. */
  readonly reusePort: boolean
  /** Milliseconds that connections may stay open after their port is gone. */
  readonly grace: number
}

export interface SwapOptions {
  /** Called once nothing can fail. */
  readonly commit?: () => void
  /** Any failure leaves everything unchanged. */
  readonly isStrict?: boolean
}

/** All ports of the process. */
export class Listeners {
  readonly #acceptDeps: AcceptDeps
  readonly #options: ListenOptions
  readonly #ports = new Map<number, OpenPort>()
  /** Bound ports that are gone, until their last connection is closed. */
  readonly #leaving = new Set<BoundPort>()
  #swapping: Promise<unknown> = Promise.resolve()
  #isDraining = false

  constructor(acceptDeps: AcceptDeps, options: ListenOptions) {
    this.#acceptDeps = acceptDeps
    this.#options = options
  }

  /** The number of open connections on all ports. */
  get connections(): number {
    let count = 0
    for (const { bound } of this.#ports.values()) count += bound.open.size
    for (const bound of this.#leaving) count += bound.open.size
    return count
  }

  /** Counts the bytes of open connections, which may stay open for days. */
  recordBytes(): void {
    const boundPorts = [...this.#leaving, ...[...this.#ports.values()].map(({ bound }) => bound)]
    for (const { open } of boundPorts) for (const accepted of open.members()) accepted.recordBytes()
  }

  /** The actual port, if the operating system chose it. */
  boundPort(port: number): number | undefined {
    const address = this.#ports.get(port)?.server.address()
    return typeof address === 'object' ? address?.port : undefined
  }

  /**
   * Ports that stay keep their sockets and connections, and use the new Program; new ports are
   * opened, the others are closed. Returns the failures. In strict mode, a failure changes nothing;
   * otherwise a listener without usable certificates closes its connections, a port that cannot be
   * opened stays closed until the next swap, and everything else takes effect.
   */
  swap(
    program: Program,
    { commit = () => {}, isStrict = true }: SwapOptions = {},
  ): Promise<readonly ListenFailure[]> {
    const swapped = this.#swapping.then(() => this.#swap(program, commit, isStrict))
    // The caller handles a failure; later swaps do not depend on it.
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
   * Accepts no more connections; closes idle ones and drains the others. Resolves when none is
   * left, or at the deadline, when the rest is cut off. Returns the number of those.
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
    // A process that ends serves requests in transit; a removed listener serves no more requests.
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
    // If descriptors run out (EMFILE, ENFILE), libuv empties the accept queue of the operating
    // system with a spare descriptor, and closes what was in it; the next client is accepted if
    // there are descriptors by then. Any other error of accept(2) concerns only one client. None of
    // them ends the process.
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
  // Without a host, Node listens on `::` without a lookup; recognizing `::` as an address takes it
  // longer than all the rest. If it cannot, it listens only on IPv4, and does not report why.
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
