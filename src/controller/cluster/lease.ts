import { ask, type KubeClient, KubeError } from './client.ts'

export interface LeaderOptions {
  readonly client: KubeClient
  readonly namespace: string
  readonly name: string
  /** The identity of this replica: the name of the pod. */
  readonly identity: string
  readonly onChange: (isLeader: boolean) => void
  readonly onError?: (message: string) => void
  /** Seconds that a lease is valid without renewal. */
  readonly duration?: number
  readonly now?: () => number
}

interface Lease {
  readonly metadata: { readonly resourceVersion?: string }
  readonly spec?: LeaseSpec
}

interface LeaseSpec {
  readonly holderIdentity?: string | null
  readonly leaseDurationSeconds?: number
  readonly acquireTime?: string
  readonly renewTime?: string
  readonly leaseTransitions?: number
}

/**
 * Elects the replica that writes to the cluster: the holder of a Lease. The lease of another
 * replica expires when it was not renewed for its duration, measured by the local clock since its
 * last observed change, so that clocks need not be synchronized.
 */
export class LeaderElection {
  readonly #options: LeaderOptions
  #isLeader = false
  #timer: NodeJS.Timeout | undefined
  #isStopped = false
  #renewedAt = 0
  #seen: { readonly version: string; readonly at: number } | undefined

  constructor(options: LeaderOptions) {
    this.#options = options
  }

  get isLeader(): boolean {
    return this.#isLeader
  }

  start(): void {
    void this.#round()
  }

  /** Releases the lease, so that another replica need not wait for it to expire. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    if (!this.#isLeader) return
    this.#become(false)
    try {
      const lease = await this.#read()
      if (lease?.spec?.holderIdentity !== this.#options.identity) return
      await this.#write(lease, { ...lease.spec, holderIdentity: '' })
    } catch {
      // The lease expires by itself.
    }
  }

  async #round(): Promise<void> {
    const { duration = 15, onError } = this.#options
    try {
      await this.#try()
    } catch (error) {
      onError?.((error as Error).message)
      // Another replica may be writing by now: stop well before that is possible.
      if (this.#now() - this.#renewedAt > duration * 1000 * (2 / 3)) this.#become(false)
    }
    if (this.#isStopped) return
    const pause = (duration * 1000) / (this.#isLeader ? 5 : 7)
    this.#timer = setTimeout(() => void this.#round(), pause)
    this.#timer.unref()
  }

  async #try(): Promise<void> {
    const { identity, duration = 15 } = this.#options
    const began = this.#now()
    const lease = await this.#read()
    const time = new Date().toISOString().replace('Z', '000Z')
    const fresh = { holderIdentity: identity, leaseDurationSeconds: duration, renewTime: time }
    if (lease === undefined) {
      await this.#create({ ...fresh, acquireTime: time, leaseTransitions: 0 })
    } else {
      const { spec = {} } = lease
      const isOurs = spec.holderIdentity === identity
      if (!isOurs && !this.#isOver(lease)) return this.#become(false)
      const taken = { acquireTime: time, leaseTransitions: (spec.leaseTransitions ?? 0) + 1 }
      await this.#write(lease, { ...spec, ...fresh, ...(isOurs ? {} : taken) })
    }
    this.#renewedAt = began
    if (!this.#isStopped) this.#become(true)
  }

  /** Whether the lease of another replica has expired. */
  #isOver({ metadata, spec = {} }: Lease): boolean {
    if (spec.holderIdentity === undefined || !spec.holderIdentity) return true
    const version = metadata.resourceVersion ?? ''
    if (this.#seen?.version !== version) this.#seen = { version, at: this.#now() }
    return this.#now() - this.#seen.at > (spec.leaseDurationSeconds ?? 15) * 1000
  }

  #become(isLeader: boolean): void {
    if (this.#isLeader === isLeader) return
    this.#isLeader = isLeader
    this.#options.onChange(isLeader)
  }

  #now(): number {
    return (this.#options.now ?? (() => performance.now()))()
  }

  get #path(): string {
    return `/apis/coordination.k8s.io/v1/namespaces/${this.#options.namespace}/leases`
  }

  async #read(): Promise<Lease | undefined> {
    const { client, name } = this.#options
    try {
      return await ask<Lease>(client, 'GET', `${this.#path}/${name}`)
    } catch (error) {
      if (error instanceof KubeError && error.status === 404) return undefined
      throw error
    }
  }

  async #create(spec: LeaseSpec): Promise<void> {
    const { client, name, namespace } = this.#options
    const body = { ...HEAD, metadata: { name, namespace }, spec }
    await ask(client, 'POST', this.#path, { body })
  }

  /** Fails if it changed since it was read: only one of two replicas gets it. */
  async #write({ metadata }: Lease, spec: LeaseSpec): Promise<void> {
    const { client, name } = this.#options
    await ask(client, 'PUT', `${this.#path}/${name}`, { body: { ...HEAD, metadata, spec } })
  }
}

const HEAD = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' }
