import type { Model } from '../../model/model.ts'
import { Reach } from '../../reach/reach.ts'
import type { KubeObject } from '../cluster/object.ts'
import { objectsOf, type Snapshot } from '../cluster/snapshot.ts'
import { type Deployed, Deployer, type LiveObject, type ObjectClient } from './deployer.ts'
import { type GatewayObject, inputsOf, type ParametersRef } from './inputs.ts'
import type { DeployOptions } from './options.ts'
import type { ProxyParameters } from './parameters.ts'

export interface GatewayDeploymentsOptions {
  readonly client: ObjectClient
  readonly controllerName: string
  readonly image: DeployOptions['image']
  readonly xdsAddress: string
  /** The certificates that proxies trust; undefined if they connect without TLS. */
  readonly xdsCa: () => string | undefined
  readonly onDeployed?: (gateway: string, outcome: Deployed) => void
}

/** Gateways deployed in parallel: an API server has other clients, too. */
const MAX_AT_ONCE = 8

/** Deploys the proxies of all Gateways that have a Model, and checks again only if necessary. */
export class GatewayDeployments {
  readonly #options: GatewayDeploymentsOptions
  readonly #gateways = new Map<string, GatewayDeployment>()

  constructor(options: GatewayDeploymentsOptions) {
    this.#options = options
  }

  /** Why the deployment of a Gateway's proxies is incomplete. */
  failuresOf(gateway: string): readonly string[] {
    return this.#gateways.get(gateway)?.failures ?? []
  }

  /** Returns whether everything is deployed. `mayGoOn`: whether this replica still writes. */
  async deploy(
    snapshot: Snapshot,
    models: ReadonlyMap<string, Model>,
    mayGoOn: () => boolean,
  ): Promise<boolean> {
    // The objects of a deleted Gateway are deleted with it, by their owner references.
    for (const key of this.#gateways.keys()) if (!models.has(key)) this.#gateways.delete(key)
    await this.#removeLost(snapshot, mayGoOn)
    const queue = [...models]
    const worker = async () => {
      for (let next = queue.shift(); next !== undefined && mayGoOn(); next = queue.shift()) {
        const [key, model] = next
        const known = this.#gateways.get(key) ?? new GatewayDeployment(key, this.#options)
        this.#gateways.set(key, known)
        await known.deploy(snapshot, portsOf(model))
      }
    }
    await Promise.all(Array.from({ length: MAX_AT_ONCE }, worker))
    return [...this.#gateways.values()].every(({ failures }) => failures.length === 0)
  }

  /**
   * Removes the proxies of Gateways that now belong to another controller: they would no longer
   * receive policy changes. The proxies of an invalid Gateway stay.
   */
  async #removeLost(snapshot: Snapshot, mayGoOn: () => boolean): Promise<void> {
    const { client, controllerName, onDeployed } = this.#options
    const classes = [...objectsOf(snapshot, 'GatewayClass').values()]
      .filter(({ spec }) => (spec as ClassSpec | undefined)?.controllerName === controllerName)
      .map(({ metadata }) => metadata.name)
    const live = (kind: string, namespace: string, name: string) =>
      objectsOf(snapshot, kind).get(`${namespace}/${name}`) as LiveObject | undefined
    for (const [key, object] of objectsOf(snapshot, 'Gateway')) {
      const { spec, metadata } = object as unknown as GatewayObject
      if (classes.includes(spec.gatewayClassName) || !mayGoOn()) continue
      const outcome = await new Deployer({ client, live }).remove(metadata, classes)
      if (outcome.deleted.length + outcome.failures.length > 0) onDeployed?.(key, outcome)
    }
  }
}

interface ClassSpec {
  readonly controllerName?: string
  readonly parametersRef?: ParametersRef
}

/** The objects deployed for one Gateway. */
class GatewayDeployment {
  readonly #key: string
  readonly #options: GatewayDeploymentsOptions
  readonly #deployer: Deployer
  #snapshot: Snapshot = { kinds: new Map() }
  #inputs: readonly unknown[] = []
  /** The objects that the last attempt read: `kind namespace/name` → the object in the watches. */
  readonly #seen = new Map<string, KubeObject | undefined>()
  failures: readonly string[] = []

  constructor(key: string, options: GatewayDeploymentsOptions) {
    this.#key = key
    this.#options = options
    const live = (kind: string, namespace: string, name: string) =>
      this.#look(kind, `${namespace}/${name}`) as LiveObject | undefined
    this.#deployer = new Deployer({ client: options.client, live })
  }

  async deploy(snapshot: Snapshot, ports: readonly number[]): Promise<void> {
    const { xdsCa, onDeployed } = this.#options
    this.#snapshot = snapshot
    const object = objectsOf(snapshot, 'Gateway').get(this.#key)
    // It was deleted since its Model was made: the next translation removes it.
    if (object === undefined) return
    const ca = xdsCa()
    const inputs = [object.metadata.uid, ports.join(), ca]
    if (this.#isSettled(inputs)) return
    this.#inputs = inputs
    this.#seen.clear()
    const outcome = await this.#attempt(ports, ca)
    this.failures = outcome.failures
    onDeployed?.(this.#key, outcome)
  }

  async #attempt(ports: readonly number[], xdsCa: string | undefined): Promise<Deployed> {
    const { xdsAddress, image } = this.#options
    const failed = (message: string) => ({ applied: [], deleted: [], failures: [message] })
    try {
      const gateway = this.#look('Gateway', this.#key) as unknown as GatewayObject
      const found = this.#look('GatewayClass', gateway.spec.gatewayClassName)
      const { parametersRef } = (found?.spec ?? {}) as ClassSpec
      const inputs = inputsOf(gateway, parametersRef, ports, (namespace, name) => {
        const parameters = this.#look('ProxyParameters', `${namespace}/${name}`)
        return parameters && ((parameters.spec ?? {}) as ProxyParameters)
      })
      if ('invalid' in inputs) return failed(inputs.invalid)
      const options = { image, xdsAddress, xdsCa }
      return await this.#deployer.deploy(inputs.gateway, inputs.parameters, options)
    } catch (error) {
      // Parameters that no definition validated may have any shape; other Gateways are not
      // affected.
      return failed((error as Error).message)
    }
  }

  /** Whether nothing that the last attempt read has changed: another attempt would do the same. */
  #isSettled(inputs: readonly unknown[]): boolean {
    if (this.failures.length > 0) return false
    if (this.#inputs.length === 0 || inputs.some((one, at) => one !== this.#inputs[at]))
      return false
    for (const [title, before] of this.#seen) {
      const [kind = '', key = ''] = title.split(' ')
      if (objectsOf(this.#snapshot, kind).get(key) !== before) return false
    }
    return true
  }

  #look(kind: string, key: string): KubeObject | undefined {
    const found = objectsOf(this.#snapshot, kind).get(key)
    this.#seen.set(`${kind} ${key}`, found)
    return found
  }
}

/** Includes the ports of listeners that close their connections. */
function portsOf(model: Model): readonly number[] {
  return [...new Reach(model).ports].sort((a, b) => a - b)
}
