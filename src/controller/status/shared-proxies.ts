import * as z from 'zod'
import { canonicalJson } from '../../model/json.ts'
import { APPLY_PATCH, ask, type KubeClient } from '../cluster/client.ts'
import { type Objects, objectsOf, type Snapshot } from '../cluster/snapshot.ts'
import type { ProxyState } from '../delivery.ts'

/** The label of the ConfigMaps in which replicas share the state of their proxies. */
const LABEL = 'portcullis.dev/proxies-of'
const KEY = 'proxies.json'
/** A status must stay readable, and a ConfigMap is limited to a megabyte. */
const MAX_REJECTIONS = 10
const MAX_MESSAGE = 1_000

const diagnostic = z.object({
  code: z.string(),
  severity: z.enum(['error', 'warning', 'info']),
  message: z.string(),
  origin: z.object({ kind: z.literal('object'), object: z.string(), field: z.string() }),
})

const content = z.object({
  controller: z.string(),
  gateways: z.record(
    z.string(),
    z.array(
      z.object({
        node: z.string(),
        version: z.string().optional(),
        rejected: z.array(diagnostic).optional(),
      }),
    ),
  ),
})

type Content = z.output<typeof content>

export interface SharedProxiesDeps {
  readonly client: KubeClient
  readonly controllerName: string
  /** The controller's namespace: ConfigMaps in other namespaces are ignored. */
  readonly namespace: string
  /** The pod of this replica. */
  readonly identity: string
  /**
   * The UID of that pod, with which its ConfigMap is deleted. If undefined, the ConfigMap stays.
   */
  readonly uid: string | undefined
}

/**
 * The state of other replicas' proxies. A proxy is connected to one replica, and only the leader
 * writes statuses: each of the others writes the state of its proxies to its own ConfigMap.
 * Versions are hashes of the content, so that they mean the same on all replicas.
 */
export class SharedProxies {
  readonly #deps: SharedProxiesDeps
  #objects: Objects | undefined
  #others = new Map<string, readonly ProxyState[]>()
  #written: string | undefined

  constructor(deps: SharedProxiesDeps) {
    this.#deps = deps
  }

  /** Publishes the state for the leader if it changed. */
  async publish(
    snapshot: Snapshot,
    gateways: Iterable<string>,
    statesOf: (gateway: string) => readonly ProxyState[],
  ): Promise<void> {
    const { client, controllerName, namespace, identity, uid } = this.#deps
    const content = contentOf(controllerName, gateways, statesOf)
    const text = canonicalJson(content)
    const name = `${identity}-proxies`
    const live = objectsOf(snapshot, 'ConfigMap').get(`${namespace}/${name}`)
    const isEmpty = Object.keys(content.gateways).length === 0
    if (text === this.#written || (isEmpty && live === undefined)) return
    const owner = { apiVersion: 'v1', kind: 'Pod', name: identity, uid }
    const body = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name,
        namespace,
        labels: { [LABEL]: identity.slice(0, 63) },
        ...(uid === undefined ? {} : { ownerReferences: [owner] }),
      },
      data: { [KEY]: text },
    }
    const path = `/api/v1/namespaces/${namespace}/configmaps/${name}?fieldManager=portcullis&force=true`
    await ask(client, 'PATCH', path, { body, contentType: APPLY_PATCH })
    this.#written = text
  }

  /** Reads the current state from the other replicas. */
  look(snapshot: Snapshot): void {
    const objects = objectsOf(snapshot, 'ConfigMap')
    if (objects === this.#objects) return
    this.#objects = objects
    const { controllerName, namespace, identity } = this.#deps
    const others = new Map<string, ProxyState[]>()
    objects.forEach(({ metadata, data }) => {
      if (metadata.namespace !== namespace || metadata.labels?.[LABEL] === undefined) return
      if (metadata.name === `${identity}-proxies`) return
      const found = readContent((data as Readonly<Record<string, string>> | undefined)?.[KEY])
      if (found?.controller !== controllerName) return
      for (const [gateway, states] of Object.entries(found.gateways)) {
        const known = others.get(gateway) ?? []
        others.set(gateway, [...known, ...states.map(stateOf)])
      }
    })
    this.#others = others
  }

  /** Includes the proxies that are connected here; for one that moved, its latest state. */
  of(
    gateway: string,
    here: readonly ProxyState[],
    sequenceOf: (version: string) => number,
  ): readonly ProxyState[] {
    const others = this.#others.get(gateway)
    if (others === undefined) return here
    const sequence = ({ outcome }: ProxyState) => (outcome ? sequenceOf(outcome.version) : -1)
    const byNode = new Map<string, ProxyState>()
    for (const state of others) {
      const known = byNode.get(state.node)
      if (known === undefined || sequence(known) < sequence(state)) byNode.set(state.node, state)
    }
    for (const { node } of here) byNode.delete(node)
    return [...here, ...byNode.values()]
  }
}

function contentOf(
  controller: string,
  gateways: Iterable<string>,
  statesOf: (gateway: string) => readonly ProxyState[],
): Content {
  const byGateway: Content['gateways'] = {}
  for (const gateway of [...gateways].sort()) {
    const states = statesOf(gateway).map(({ node, outcome }) => {
      const rejected = (outcome?.rejections ?? [])
        .flatMap(({ diagnostics }) => diagnostics)
        .flatMap(({ code, severity, message, origin }) =>
          origin.kind === 'object'
            ? [{ code, severity, message: message.slice(0, MAX_MESSAGE), origin }]
            : [],
        )
        .slice(0, MAX_REJECTIONS)
      return {
        node,
        ...(outcome === undefined ? {} : { version: outcome.version }),
        ...(rejected.length === 0 ? {} : { rejected }),
      }
    })
    if (states.length > 0) byGateway[gateway] = states.sort((a, b) => (a.node < b.node ? -1 : 1))
  }
  return { controller, gateways: byGateway }
}

function readContent(text: string | undefined): Content | undefined {
  try {
    return content.safeParse(JSON.parse(text ?? '')).data
  } catch {
    return undefined
  }
}

function stateOf({ node, version, rejected }: Content['gateways'][string][number]): ProxyState {
  const rejections = rejected === undefined ? [] : [{ diagnostics: rejected }]
  return { node, outcome: version === undefined ? undefined : { version, rejections } }
}
