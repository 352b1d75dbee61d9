import { createHash, randomBytes } from 'node:crypto'
import { canonicalJson } from '../../model/json.ts'
import { objectName } from './object-name.ts'
import type { DeployOptions } from './options.ts'
import type { ProxyParameters } from './parameters.ts'
import {
  CLASS_LABEL,
  type DeployedGateway,
  type DeployedObject,
  MANAGER,
  renderGateway,
} from './render.ts'

/** The API server operations that are needed. */
export interface ObjectClient {
  request(
    method: string,
    path: string,
    options?: { readonly body?: unknown; readonly contentType?: string },
  ): Promise<{ readonly status: number; readonly body: unknown }>
}

/** An object in the cluster. */
export interface LiveObject {
  readonly metadata: {
    readonly uid?: string
    readonly resourceVersion?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
    readonly ownerReferences?: readonly { readonly uid?: string }[]
  }
  readonly data?: Readonly<Record<string, string>>
}

/** Returns an object from the watches; undefined if there is none. */
export type Live = (kind: string, namespace: string, name: string) => LiveObject | undefined

export interface DeployerOptions {
  readonly client: ObjectClient
  readonly live: Live
  readonly random?: (bytes: number) => Buffer
}

/** The changes made, such as `Deployment default/web`. */
export interface Deployed {
  readonly applied: readonly string[]
  readonly deleted: readonly string[]
  readonly failures: readonly string[]
}

const PLURALS = {
  ServiceAccount: ['/api/v1', 'serviceaccounts'],
  ConfigMap: ['/api/v1', 'configmaps'],
  Secret: ['/api/v1', 'secrets'],
  Service: ['/api/v1', 'services'],
  Deployment: ['/apis/apps/v1', 'deployments'],
  DaemonSet: ['/apis/apps/v1', 'daemonsets'],
  PodDisruptionBudget: ['/apis/policy/v1', 'poddisruptionbudgets'],
  HorizontalPodAutoscaler: ['/apis/autoscaling/v2', 'horizontalpodautoscalers'],
} as const

type Kind = keyof typeof PLURALS

/**
 * A hash of the applied object, by which the next process knows that it need not apply it again.
 */
const APPLIED = 'portcullis.dev/applied'

const SESSION_KEY_BYTES = 32

/**
 * Applies the objects of Gateways by server-side apply, and writes only if the desired object or
 * its fields in the cluster changed.
 */
export class Deployer {
  readonly #options: DeployerOptions
  /** The last write of an object, and how the server shows it. */
  readonly #written = new Map<string, { readonly hash: string; seen?: string; shown: string }>()

  constructor(options: DeployerOptions) {
    this.#options = options
  }

  async deploy(
    gateway: DeployedGateway,
    parameters: readonly ProxyParameters[],
    options: Omit<DeployOptions, 'sessionKey'>,
  ): Promise<Deployed> {
    const sessionKey = await this.#sessionKey(gateway)
    const wanted = renderGateway(gateway, parameters, { ...options, sessionKey })
    const outcome = { applied: [] as string[], deleted: [] as string[], failures: [] as string[] }
    for (const object of wanted) {
      await this.#attempt(outcome, titleOf(object), () => this.#apply(object, gateway, outcome))
    }
    for (const [kind, name] of namesOf(gateway)) {
      if (wanted.some((object) => object.kind === kind && object.metadata.name === name)) continue
      const title = `${kind} ${gateway.namespace}/${name}`
      await this.#attempt(outcome, title, () => this.#prune(kind, name, gateway, outcome))
    }
    return outcome
  }

  /** The existing key if there is one: a new key would end all sessions. */
  async #sessionKey({ name, namespace }: DeployedGateway): Promise<string> {
    const { random = randomBytes } = this.#options
    const own = objectName(name, '-session-key')
    const known = (await this.#find('Secret', namespace, own))?.data?.['key']
    if (known !== undefined) return known
    const title = `Secret ${namespace}/${own}`
    const generated = this.#keys.get(title)
    if (generated !== undefined) return generated
    const key = Buffer.from(random(SESSION_KEY_BYTES).toString('hex')).toString('base64')
    this.#keys.set(title, key)
    return key
  }

  /** Generated keys, which the watches may not have seen yet. */
  readonly #keys = new Map<string, string>()

  /** Deletes the objects deployed for a Gateway, if they were deployed for one of these classes. */
  async remove(
    gateway: Pick<DeployedGateway, 'name' | 'namespace' | 'uid'>,
    classes: readonly string[],
  ): Promise<Deployed> {
    const labels = classes.map((name) => objectName(name))
    const outcome = { applied: [] as string[], deleted: [] as string[], failures: [] as string[] }
    for (const [kind, name] of namesOf(gateway)) {
      const live = this.#options.live(kind, gateway.namespace, name)
      if (!labels.includes(live?.metadata.labels?.[CLASS_LABEL] ?? '')) continue
      const title = `${kind} ${gateway.namespace}/${name}`
      await this.#attempt(outcome, title, () => this.#prune(kind, name, gateway, outcome))
    }
    return outcome
  }

  async #attempt(outcome: Deployed, title: string, act: () => Promise<void>): Promise<void> {
    try {
      await act()
    } catch (error) {
      ;(outcome.failures as string[]).push(`${title}: ${(error as Error).message}`)
    }
  }

  async #apply(object: DeployedObject, gateway: DeployedGateway, outcome: Deployed): Promise<void> {
    const { namespace, name } = object.metadata
    const live = this.#options.live(object.kind, namespace, name)
    const title = titleOf(object)
    const hash = hashOf(object)
    const found = live ?? (await this.#find(object.kind as Kind, namespace, name))
    if (found !== undefined && !isOwned(found, gateway)) {
      throw new Error(
        'an object with this name exists that the controller does not manage; rename or delete it',
      )
    }
    if (this.#isSettled(title, object, hash, live)) return
    const annotated = withAnnotation(object, hash)
    const path = `${pathOf(object.kind, namespace, name)}?fieldManager=${MANAGER}&force=true`
    const body = await this.#request('PATCH', path, {
      body: annotated,
      contentType: 'application/apply-patch+yaml',
    })
    const seen = live?.metadata.resourceVersion
    const shown = projectionOf(annotated, body)
    this.#written.set(title, { hash, shown, ...(seen !== undefined && { seen }) })
    ;(outcome.applied as string[]).push(title)
  }

  #isSettled(
    title: string,
    object: DeployedObject,
    hash: string,
    live: LiveObject | undefined,
  ): boolean {
    const known = this.#written.get(title)
    if (live === undefined) return false
    if (known?.hash === hash) {
      // The watches have not seen the write yet.
      if (known.seen !== undefined && known.seen === live.metadata.resourceVersion) return true
      return known.shown === projectionOf(withAnnotation(object, hash), live)
    }
    if (live.metadata.annotations?.[APPLIED] !== hash) return false
    // Written by an earlier process. If the server shows it differently, it is written once more.
    const shown = projectionOf(withAnnotation(object, hash), live)
    if (shown !== projectionOf(withAnnotation(object, hash), withAnnotation(object, hash))) {
      return false
    }
    this.#written.set(title, { hash, shown })
    return true
  }

  async #prune(
    kind: Kind,
    name: string,
    gateway: Pick<DeployedGateway, 'namespace' | 'uid'>,
    outcome: Deployed,
  ): Promise<void> {
    const title = `${kind} ${gateway.namespace}/${name}`
    const live = this.#options.live(kind, gateway.namespace, name)
    this.#written.delete(title)
    if (live?.metadata.annotations?.[APPLIED] === undefined || !isOwned(live, gateway)) return
    // Without a body: node:https sends a DELETE with a body without a length, and servers reject
    // it.
    await this.#request('DELETE', pathOf(kind, gateway.namespace, name))
    ;(outcome.deleted as string[]).push(title)
  }

  /**
   * Returns an object from the watches, or else from the server: the watches may be late, and they
   * never see objects without the labels of a Gateway.
   */
  async #find(kind: Kind, namespace: string, name: string): Promise<LiveObject | undefined> {
    const seen = this.#options.live(kind, namespace, name)
    if (seen !== undefined) return seen
    const found = await this.#request('GET', pathOf(kind, namespace, name))
    return found as LiveObject | undefined
  }

  async #request(
    method: string,
    path: string,
    options?: { readonly body: unknown; readonly contentType?: string },
  ): Promise<unknown> {
    const { status, body } = await this.#options.client.request(method, path, options)
    if (status === 404 && method !== 'PATCH') return undefined
    if (status >= 200 && status < 300) return body
    const { message } = (body ?? {}) as { readonly message?: unknown }
    throw new Error(typeof message === 'string' ? message : `the API server returned ${status}`)
  }
}

/** The names of all objects that may have been deployed for a Gateway. */
function namesOf({ name }: Pick<DeployedGateway, 'name'>): readonly (readonly [Kind, string])[] {
  const own = (Object.keys(PLURALS) as Kind[])
    .filter((kind) => kind !== 'Secret')
    .map((kind) => [kind, objectName(name)] as const)
  return [
    ...own,
    ['ConfigMap', objectName(name, '-xds-ca')],
    ['Secret', objectName(name, '-session-key')],
  ]
}

function pathOf(kind: string, namespace: string, name: string): string {
  const [prefix, plural] = PLURALS[kind as Kind]
  return `${prefix}/namespaces/${namespace}/${plural}/${name}`
}

function titleOf({ kind, metadata }: DeployedObject): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`
}

function isOwned({ metadata }: LiveObject, { uid }: Pick<DeployedGateway, 'uid'>): boolean {
  return metadata.ownerReferences?.some((owner) => owner.uid === uid) === true
}

function hashOf(object: DeployedObject): string {
  return createHash('sha256').update(canonicalJson(object)).digest('hex').slice(0, 32)
}

function withAnnotation(object: DeployedObject, hash: string): DeployedObject {
  const annotations = { ...object.metadata.annotations, [APPLIED]: hash }
  return { ...object, metadata: { ...object.metadata, annotations } }
}

/** The desired fields as the server shows them; others belong to the server or other managers. */
function projectionOf(wanted: DeployedObject, shown: unknown): string {
  // Objects of a list do not contain their kind.
  const { apiVersion: _, kind: __, ...fields } = wanted
  return canonicalJson(project(fields, shown))
}

function project(wanted: unknown, shown: unknown): unknown {
  if (Array.isArray(wanted)) {
    if (!Array.isArray(shown)) return null
    return wanted.map((item, index) => project(item, counterpart(item, index, shown)))
  }
  if (typeof wanted !== 'object' || wanted === null) return shown ?? null
  if (typeof shown !== 'object' || shown === null) return null
  const fields = shown as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    Object.entries(wanted).map(([key, value]) => [key, project(value, fields[key])]),
  )
}

/** Others may have added items, so named items are found by name. */
function counterpart(item: unknown, index: number, shown: readonly unknown[]): unknown {
  const key = nameOf(item)
  return key === undefined ? shown[index] : shown.find((other) => nameOf(other) === key)
}

function nameOf(item: unknown): string | undefined {
  const { name, uid, mountPath } = (item ?? {}) as Readonly<Record<string, unknown>>
  const key = uid ?? mountPath ?? name
  return typeof key === 'string' ? key : undefined
}
