import type { Client, Notification } from 'pg'
import { connectionProblem } from './connection-problem.ts'
import { migrate } from './migrations.ts'

export interface FeedEvents {
  readonly connected: () => void
  /** `retryIn`: delay in milliseconds. */
  readonly lost: (error: string, retryIn: number) => void
}

export interface FeedOptions {
  readonly connect: () => Client
  /** `isWhole`: reads everything, because this may not be the same database as before. */
  readonly read: (client: Client, isWhole: boolean) => Promise<void>
  /** Runs after each `read`. */
  readonly look: (client: Client) => Promise<void>
  readonly events: FeedEvents
}

/** Interval in milliseconds at which the database is polled if no notification arrives. */
const POLL = 5_000
const RETRY = { min: 200, max: 10_000 } as const

/**
 * Follows the stored configuration: reads it after each notification, and polls in case a
 * notification was lost. Reconnects with jitter, so that replicas that lose the database together
 * do not return at the same moment.
 */
export class ChangeFeed {
  readonly #options: FeedOptions
  #wake = () => {}
  #stopSleeping = () => {}
  #isAwake = false
  #isClosed = false
  #client: Client | undefined
  #running: Promise<void> = Promise.resolve()
  isConnected = false
  problem: string | undefined = 'not connected yet'

  constructor(options: FeedOptions) {
    this.#options = options
  }

  run(): Promise<void> {
    this.#running = this.#follow()
    return this.#running
  }

  /** Reads the database immediately. */
  wake(): void {
    this.#isAwake = true
    this.#wake()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.wake()
    this.#stopSleeping()
    await this.#running
  }

  async #follow(): Promise<void> {
    let retryDelay: number = RETRY.min
    while (!this.#isClosed) {
      try {
        await this.#connected(() => {
          retryDelay = RETRY.min
        })
      } catch (error) {
        this.problem = connectionProblem(error)
      }
      this.isConnected = false
      await this.#client?.end().catch(() => {})
      if (this.#isClosed) return
      const pause = jittered(retryDelay)
      this.#options.events.lost(this.problem ?? 'the connection ended', pause)
      retryDelay = Math.min(retryDelay * 2, RETRY.max)
      await this.#sleep(pause)
    }
  }

  async #connected(opened: () => void): Promise<void> {
    const { connect, read, events } = this.#options
    const client = connect()
    this.#client = client
    this.#isAwake = false
    let broken: Error | undefined
    const end = (error?: Error) => {
      broken ??= error ?? new Error('the database closed the connection')
      this.wake()
    }
    client.on('error', end)
    client.on('end', () => end())
    client.on('notification', (_: Notification) => this.wake())
    await client.connect()
    await migrate(client)
    // Listen before reading, so that a change stored in between is not missed.
    await client.query('listen portcullis_changes')
    await read(client, true)
    await this.#options.look(client)
    opened()
    this.isConnected = true
    this.problem = undefined
    events.connected()
    while (!this.#isClosed && broken === undefined) {
      await this.#pause(jittered(POLL))
      if (this.#isClosed || broken !== undefined) break
      await read(client, false)
      await this.#options.look(client)
    }
    if (broken !== undefined) throw broken
  }

  /** Only `close` ends the sleep early: a database that fails at once is not retried at once. */
  #sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds)
      this.#stopSleeping = () => {
        clearTimeout(timer)
        resolve()
      }
      if (this.#isClosed) this.#stopSleeping()
    })
  }

  async #pause(milliseconds: number): Promise<void> {
    if (!this.#isAwake) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, milliseconds)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    this.#isAwake = false
  }
}

function jittered(milliseconds: number): number {
  return milliseconds * (0.5 + Math.random())
}
