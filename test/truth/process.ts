import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as wait } from 'node:timers/promises'
import { freePorts } from '../free-port.ts'
import { PORTCULLIS } from '../programs.ts'
import { onPorts, type World } from './gateways.ts'
import type { FalseClaim, Side } from './pair.ts'
import { describeProbe } from './probes.ts'
import type { Outcome, Probe } from './wire.ts'

const TIMEOUT_MS = 60_000

/**
 * `portcullis run` as a separate process, which applies one file after the other. It runs beside
 * the gateway in this process, so that the outcomes are also compared with the product as users
 * start it.
 */
export class RunningGateway {
  readonly #world: World
  readonly #ports: ReadonlyMap<number, number>
  #child: ChildProcess | undefined
  #text = ''

  private constructor(world: World, ports: ReadonlyMap<number, number>) {
    this.#world = world
    this.#ports = ports
  }

  static async open(world: World): Promise<RunningGateway> {
    const own = await freePorts(world.place.ports.length)
    const ports = new Map(world.place.ports.map((port, index) => [port, own[index] as number]))
    return new RunningGateway(world, ports)
  }

  /** The differences between the process and the gateway in this process. */
  async compare(side: Side, probes: readonly Probe[]): Promise<readonly FalseClaim[] | 'rejected'> {
    // A proven mistake prevents the start: there is nothing to compare.
    if (!(await this.#serve(side))) return 'rejected'
    const moved = probes.map(({ transport, request }) => ({
      transport: { ...transport, port: this.#ports.get(transport.port) ?? transport.port },
      request,
    }))
    const outcomes = await this.#world.send(moved)
    const at = outcomes.findIndex((outcome, index) => {
      const own = side.outcomes[index] as Outcome
      return outcome.status !== own.status || outcome.by !== own.by
    })
    if (at < 0) return []
    const claim = `the gateway in this process responds with ${side.outcomes[at]?.status}`
    const observed = `portcullis run responds with ${outcomes[at]?.status}`
    return [{ kind: 'process', claim, observed, probe: describeProbe(probes[at] as Probe) }]
  }

  async close(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await ended
  }

  async #serve(side: Side): Promise<boolean> {
    const tree = onPorts(side.tree, this.#ports)
    this.#text = ''
    const file = this.#world.write('running.yaml', tree)
    if (this.#child !== undefined) {
      this.#child.kill('SIGHUP')
      return this.#until('applied', /outcome"?[=:]"?applied/, /outcome"?[=:]"?rejected/)
    }
    const child = spawn(process.execPath, [PORTCULLIS, 'run', '-f', file])
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (bytes) => (this.#text += bytes))
    }
    this.#child = child
    const isServed = await this.#until('serving', /serving/, /error\[AZ/)
    if (isServed) return true
    await this.close()
    this.#child = undefined
    return false
  }

  async #until(what: string, sign: RegExp, rejection: RegExp): Promise<boolean> {
    for (let waited = 0; waited < TIMEOUT_MS; waited += 10) {
      if (sign.test(this.#text)) return true
      if (rejection.test(this.#text)) return false
      if (this.#child?.exitCode !== null) break
      await wait(10)
    }
    throw new Error(`portcullis run is not ${what}:\n${this.#text.slice(-2_000)}`)
  }
}
