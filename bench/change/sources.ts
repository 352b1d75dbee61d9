import type { Model } from '../../src/model/model.ts'
import { runToCompletion } from '../../src/model/steps.ts'
import { KnownResources } from '../../src/sources/database/known-resources.ts'
import { type Baseline, loadOver } from '../../src/sources/database/load.ts'
import { mergeResources, type StoredResource } from '../../src/sources/database/merge.ts'
import { resourcesOf } from '../../src/sources/database/resources.ts'
import { KnownItems } from '../../src/sources/file/known-items.ts'
import { type Loaded, loadText } from '../../src/sources/file/load.ts'
import { readDocument } from '../../src/sources/file/read.ts'
import { DeltaStream } from '../../src/xds/delta-stream.ts'
import { acknowledgement } from '../../src/xds/protocol.ts'
import { Publications } from '../../src/xds/publications.ts'
import { Replica } from '../../src/xds/replica.ts'
import type { Configuration, WrittenBackend, WrittenRoute } from './edits.ts'

export const FILE = '/bench/change.yaml'

/** Stores a configuration and reads it again after an edit. */
export interface EditedSource {
  /** Replaces the stored configuration; the time is not measured. */
  write(configuration: Configuration): void
  /** The Model, and which origins moved. */
  read(): Pick<Loaded, 'result' | 'settings'>
}

const HEAD = `config:
  adminAddr: off
  statsAddr: off
  readinessAddr: off
gateways:
  default:
    port: 24173
`

export function fileSource(): EditedSource {
  const known = new KnownItems()
  let text = ''
  return {
    write: ({ routes, backends }) => {
      const lists = `backends:\n${backends.map(backendText).join('')}routes:\n`
      text = `${HEAD}${lists}${routes.map(routeText).join('')}`
    },
    read: () => loadText(text, FILE, { environment: {}, known }),
  }
}

function backendText({ name, host }: WrittenBackend): string {
  return `- name: ${name}\n  host: ${host}\n`
}

function routeText({ name, path, hostnames, rules, backend }: WrittenRoute): string {
  const names = hostnames.map((own) => `    - ${own}\n`)
  return `- name: ${name}
  matches:
  - path:
      pathPrefix: ${path}
${names.length === 0 ? '' : `  hostnames:\n${names.join('')}`}  policies:
    authorization:
      rules:
${rules.map((rule) => `      - ${rule.action}: ${rule.expression}\n`).join('')}  backends:
  - backend: ${backend}
`
}

/** Routes and backends are database rows; everything else is in the file. */
export function databaseSource(): EditedSource {
  const { value: document } = readDocument(HEAD, { file: FILE, environment: {}, how: 'whole' })
  if (document === undefined) throw new Error('the baseline was rejected')
  const resources = resourcesOf(document.value)
  const baseline: Baseline = {
    file: FILE,
    document,
    value: document.value,
    outline: document,
    resources,
    digest: '',
  }
  const known = new KnownResources()
  const rows = new Map<WrittenRoute | WrittenBackend, StoredResource>()
  let stored: readonly StoredResource[] = []
  const created = new Map<string, number>()
  const rowOf = (kind: StoredResource['kind'], id: string, value: StoredResource['value']) => {
    const change = { author: 'bench', time: '2026-01-01T00:00:00Z' }
    // An edit keeps the creation order.
    const number = created.get(`${kind} ${id}`) ?? created.size + 1
    created.set(`${kind} ${id}`, number)
    return { kind, id, state: 'set', value, base: null, revision: 1, created: number, ...change }
  }
  const kept = <T extends WrittenRoute | WrittenBackend>(thing: T, make: (thing: T) => object) => {
    const row = rows.get(thing) ?? (make(thing) as StoredResource)
    rows.set(thing, row)
    return row
  }
  return {
    write: ({ routes, backends }) => {
      stored = [
        ...backends.map((one) =>
          kept(one, ({ name, host }) => rowOf('backends', name, { name, host })),
        ),
        ...routes.map((one) => kept(one, (own) => rowOf('routes', own.name, routeValue(own)))),
      ]
    },
    read: () => {
      const merged = mergeResources(baseline.resources, stored)
      return runToCompletion(loadOver(baseline, merged, known))
    },
  }
}

function routeValue({ name, path, hostnames, rules, backend }: WrittenRoute) {
  return {
    name,
    matches: [{ path: { pathPrefix: path } }],
    ...(hostnames.length === 0 ? {} : { hostnames }),
    policies: {
      authorization: { rules: rules.map(({ action, expression }) => ({ [action]: expression })) },
    },
    backends: [{ backend }],
  }
}

/** Delivered by a controller: from its Model to the Model of a proxy. */
export function deliveredSource(): EditedSource {
  const controller = databaseSource()
  const publications = new Publications()
  const stream = new DeltaStream()
  const replica = new Replica()
  let subscription: ReturnType<Publications['subscribe']>
  let translated: Pick<Loaded, 'result' | 'settings'> | undefined
  return {
    write: (configuration) => {
      controller.write(configuration)
      translated = controller.read()
    },
    read: () => {
      if (translated?.result.value === undefined) throw new Error('it was rejected')
      publications.publish('edge', translated.result.value)
      if (subscription === undefined) {
        const proxy = { node: 'proxy', wake: () => {}, outcome: undefined }
        subscription = publications.subscribe('edge', proxy)
        stream.receive(replica.begin('proxy'))
      }
      let model: Model | undefined
      for (;;) {
        const response = stream.next(subscription?.snapshot())
        if (response === undefined) break
        const received = replica.receive(response)
        if (received.kind === 'model') model = received.model
        stream.receive(acknowledgement(response.nonce, []))
      }
      if (model === undefined) throw new Error('nothing was delivered')
      const result = { value: model, diagnostics: [] }
      return { ...translated, result }
    },
  }
}
