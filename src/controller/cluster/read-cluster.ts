import { ask, type KubeClient, KubeError } from './client.ts'
import { KINDS, pathOf, type ResourceKind } from './kinds.ts'
import type { KubeObject } from './object.ts'

/** Objects in one response. */
const PAGE = 500

interface List {
  readonly metadata?: { readonly continue?: string }
  readonly items?: readonly KubeObject[]
}

export interface ClusterObjects {
  readonly objects: readonly KubeObject[]
  /** Kinds that the client may not list. */
  readonly forbidden: readonly string[]
}

/**
 * Reads all objects that configurations are made of, once; a kind that is not installed has none.
 */
export async function readCluster(client: KubeClient): Promise<ClusterObjects> {
  // Objects deployed for Gateways are derived from the others.
  const kinds = KINDS.filter(({ labelSelector }) => labelSelector === undefined)
  const forbidden: string[] = []
  const lists = await Promise.all(
    kinds.map(async (kind) => {
      try {
        return await listKind(client, kind)
      } catch (error) {
        if (!(error instanceof KubeError) || error.status !== 403) throw error
        forbidden.push(kind.kind)
        return []
      }
    }),
  )
  return { objects: lists.flat(), forbidden: forbidden.sort() }
}

async function listKind(client: KubeClient, kind: ResourceKind): Promise<readonly KubeObject[]> {
  for (const version of kind.versions) {
    try {
      return await listVersion(client, kind, version)
    } catch (error) {
      if (!(error instanceof KubeError) || error.status !== 404) throw error
    }
  }
  return []
}

async function listVersion(
  client: KubeClient,
  kind: ResourceKind,
  version: string,
): Promise<readonly KubeObject[]> {
  const apiVersion = kind.group === '' ? version : `${kind.group}/${version}`
  const found: KubeObject[] = []
  let next = ''
  do {
    const query = new URLSearchParams({ limit: String(PAGE) })
    if (kind.fieldSelector !== undefined) query.set('fieldSelector', kind.fieldSelector)
    if (next !== '') query.set('continue', next)
    const list = await ask<List>(client, 'GET', `${pathOf(kind, version)}?${query}`)
    // Items of a list do not contain their kind.
    for (const item of list.items ?? []) found.push({ ...item, apiVersion, kind: kind.kind })
    next = list.metadata?.continue ?? ''
  } while (next !== '')
  return found
}
