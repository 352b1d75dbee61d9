import { type Document, parseAllDocuments } from 'yaml'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { kindNamed } from './cluster/kinds.ts'
import type { KubeObject } from './cluster/object.ts'

export interface Manifest {
  /** The name in messages. */
  readonly file: string
  readonly text: string
}

/** The objects of manifests, in order; kinds that the gateway does not read are skipped. */
export function readManifests(manifests: readonly Manifest[]): {
  readonly objects: readonly KubeObject[]
  readonly diagnostics: readonly Diagnostic[]
} {
  const objects: KubeObject[] = []
  const diagnostics: Diagnostic[] = []
  for (const { file, text } of manifests) {
    const complain = (offset: number, message: string) => {
      const before = text.slice(0, offset).split('\n')
      const place = { line: before.length, column: [...(before.at(-1) ?? '')].length + 1 }
      const origin = { kind: 'file', file, ...place } as const
      diagnostics.push({ code: 'PC0710', severity: 'error', message, origin })
    }
    for (const document of parseAllDocuments(text, { uniqueKeys: true })) {
      if ('errors' in document && document.errors.length > 0) {
        for (const { pos, message } of document.errors.slice(0, MAX_ERRORS))
          complain(pos[0], lineOf(message))
        continue
      }
      const at = document.contents?.range?.[0] ?? 0
      const value = plainValue(document)
      if (value instanceof BadAlias) complain(at, value.message)
      if (value === null || value === undefined || value instanceof BadAlias) continue
      for (const item of itemsOf(value)) {
        if (isObject(item)) objects.push(...known(item))
        else complain(at, 'apiVersion, kind and metadata.name are required')
      }
    }
  }
  return { objects, diagnostics }
}

class BadAlias extends Error {}

/**
 * The value of a document, or a BadAlias: a few lines of aliases can expand to gigabytes, and an
 * alias can be undefined.
 */
export function plainValue(document: Document.Parsed): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 })
  } catch (error) {
    const isUnresolved = error instanceof ReferenceError && error.message.startsWith('Unresolved')
    return new BadAlias(isUnresolved ? 'an alias refers to an unknown anchor' : 'too many aliases')
  }
}

function itemsOf(value: unknown): readonly unknown[] {
  const { kind, items } = value as { readonly kind?: unknown; readonly items?: unknown }
  return kind === 'List' && Array.isArray(items) ? items : [value]
}

function isObject(value: unknown): value is KubeObject {
  const { apiVersion, kind, metadata } = (value ?? {}) as Partial<KubeObject>
  return (
    typeof apiVersion === 'string' &&
    typeof kind === 'string' &&
    typeof metadata?.name === 'string' &&
    metadata.name !== ''
  )
}

/** In the namespace that kubectl would use. */
function known(object: KubeObject): readonly KubeObject[] {
  const kind = kindNamed(object.kind)
  const group = object.apiVersion.includes('/') ? object.apiVersion.split('/')[0] : ''
  if (kind === undefined || kind.group !== group) return []
  if (!kind.isNamespaced || object.metadata.namespace !== undefined) return [object]
  return [{ ...object, metadata: { ...object.metadata, namespace: 'default' } }]
}

/**
 * Adds a class for each Gateway whose class is in no manifest: the controller creates it, so users
 * do not write it.
 */
export function withClasses(
  objects: readonly KubeObject[],
  controllerName: string,
): readonly KubeObject[] {
  const there = new Set(
    objects.flatMap(({ kind, metadata }) => (kind === 'GatewayClass' ? [metadata.name] : [])),
  )
  const named = objects.flatMap(({ kind, spec }) => {
    const { gatewayClassName } = (spec ?? {}) as { readonly gatewayClassName?: unknown }
    return kind === 'Gateway' && typeof gatewayClassName === 'string' ? [gatewayClassName] : []
  })
  const missing = [...new Set(named)].filter((name) => !there.has(name))
  const made = missing.map((name) => ({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'GatewayClass',
    metadata: { name },
    spec: { controllerName },
  }))
  return [...objects, ...made]
}

/** Per document: a parser that lost its position reports errors everywhere. */
const MAX_ERRORS = 10

/** The first line of the parser's message; the parser limits nesting only by its stack. */
function lineOf(message: string): string {
  if (message.startsWith('Maximum call stack')) return 'nested too deeply'
  return message.split('\n')[0] ?? ''
}
