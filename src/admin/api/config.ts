import { stringify } from 'yaml'
import * as z from 'zod'
import type { JsonValue } from '../../model/json.ts'
import { HIDDEN, isCredentialName, redact } from '../../model/redact.ts'
import {
  type Configuration,
  type ConfigurationView,
  documentOf,
  etagOf,
} from '../../sources/database/configuration.ts'
import type { MergedResource } from '../../sources/database/merge.ts'
import { isResourceKind, RESOURCE_KINDS } from '../../sources/database/resource-kinds.ts'
import { keyOf, resourcesOf } from '../../sources/database/resources.ts'
import { type ApiReply, type Endpoint, ok, problem } from './define.ts'
import type { ApiDeps } from './deps.ts'

const anyValue = z
  .unknown()
  .describe('The value, as in a file; secrets are replaced by references.')

const summary = {
  kind: z.enum(RESOURCE_KINDS),
  id: z.string(),
  origin: z
    .enum(['baseline', 'database', 'merged'])
    .describe('merged: a resource of the baseline that was edited.'),
  isHidden: z.boolean().describe('The resource is in the baseline, but was deleted by an edit.'),
  etag: z.string(),
  revision: z.int().nullable().describe('The revision of the last edit.'),
  author: z.string().nullable(),
  time: z.string().nullable(),
  drift: z
    .array(z.string())
    .describe('Edited fields, as JSON pointers, that have since changed in the baseline.'),
}

export const resourceSchema = z
  .object({
    ...summary,
    value: anyValue,
    baseline: z.unknown().describe('The value in the file; null: not in the file.'),
    provenance: z
      .record(z.string(), z.enum(['baseline', 'database']))
      .describe(
        'The source of each field, by JSON pointer. An empty pointer covers the whole resource.',
      ),
  })
  .meta({ id: 'Resource' })

const document = z.record(z.string(), z.unknown())

const formatted = z.object({
  format: z.enum(['json', 'yaml']).default('json').describe('The format of the response.'),
})

const UNREADABLE = 'cannot read the configuration file: see the log of the gateway'

export const CONFIG_ENDPOINTS: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/api/config',
    summary: 'The running configuration, and whether it can be changed with this API.',
    role: 'viewer',
    responses: {
      200: {
        description: 'A summary.',
        schema: z
          .object({
            file: z.string(),
            mode: z.enum(['readonly', 'database']),
            revision: z.int(),
            digest: z.string().nullable().describe('SHA-256 of the file.'),
            counts: z.record(z.string(), z.int()).describe('The number of resources by kind.'),
            edits: z.object({ merged: z.int(), added: z.int(), hidden: z.int(), drifted: z.int() }),
          })
          .meta({ id: 'ConfigOutline' }),
      },
    },
    run: (_, { configuration }) =>
      withView(configuration, (view) => ok(outlineOf(configuration, view))),
  },
  {
    method: 'GET',
    path: '/api/config/baseline',
    summary: 'The configuration file, with variables expanded and without secrets.',
    role: 'viewer',
    query: formatted,
    responses: { 200: { description: 'The configuration.', schema: document } },
    run: ({ query }, deps) =>
      withView(deps.configuration, ({ baseline }) =>
        formattedAs(query['format'], shown(baseline.value, deps)),
      ),
  },
  {
    method: 'GET',
    path: '/api/config/effective',
    summary: 'The file and the stored changes as one configuration, without secrets.',
    role: 'viewer',
    query: formatted,
    responses: { 200: { description: 'The configuration.', schema: document } },
    run: ({ query }, deps) =>
      withView(deps.configuration, (view) =>
        formattedAs(query['format'], shown(documentOf(view), deps)),
      ),
  },
  {
    method: 'GET',
    path: '/api/config/model',
    summary: 'The compiled configuration, without secrets; the same as /config_dump.',
    role: 'viewer',
    responses: { 200: { description: 'Settings, model and diagnostics.', schema: document } },
    run: (_, { status, secrets }) => {
      const { model = null, settings, diagnostics } = status()
      const hiding = { headers: settings.sensitiveHeaders, texts: secrets }
      return ok(redact({ settings, model, diagnostics }, hiding))
    },
  },
  {
    method: 'GET',
    path: '/api/config/resources',
    summary: 'All resources, with their source.',
    role: 'viewer',
    query: z.object({ kind: z.enum(RESOURCE_KINDS).optional().describe('Only this kind.') }),
    responses: {
      200: {
        description: 'The resources, in the order of the file.',
        schema: z.object({ resources: z.array(z.object(summary).meta({ id: 'ResourceSummary' })) }),
      },
    },
    run: ({ query }, { configuration }) =>
      withView(configuration, ({ merged: { resources, hidden } }) => {
        const isWanted = ({ kind }: MergedResource) =>
          query['kind'] === undefined || kind === query['kind']
        return ok({
          resources: [
            ...resources.filter(isWanted).map((one) => summaryOf(one, false)),
            ...hidden.filter(isWanted).map((one) => summaryOf(one, true)),
          ],
        })
      }),
  },
  {
    method: 'GET',
    path: '/api/config/resources/{kind}/{id}',
    summary: 'One resource; its ETag is required to change it.',
    role: 'viewer',
    responses: { 200: { description: 'The resource.', schema: resourceSchema } },
    run: ({ parts }, deps) =>
      withView(deps.configuration, (view) => {
        const { kind = '', id = '' } = parts
        const found = isResourceKind(kind) ? findResource(view, kind, id) : undefined
        if (found === undefined) return problem(404, unknownResource(view, kind, id))
        return ok(resourceOf(view, found, deps), { etag: etagOf(found) })
      }),
  },
]

export function withView(
  configuration: Configuration,
  use: (view: ConfigurationView) => ApiReply | Promise<ApiReply>,
): ApiReply | Promise<ApiReply> {
  const view = configuration.view()
  return view === undefined ? problem(503, UNREADABLE) : use(view)
}

export function findResource(
  { merged }: ConfigurationView,
  kind: string,
  id: string,
): MergedResource | undefined {
  return [...merged.resources, ...merged.hidden].find((one) => one.kind === kind && one.id === id)
}

export function unknownResource({ merged }: ConfigurationView, kind: string, id: string): string {
  if (!isResourceKind(kind)) {
    return `unknown kind \`${kind}\`; available: ${RESOURCE_KINDS.join(', ')}`
  }
  const ids = merged.resources.filter((one) => one.kind === kind).map((one) => one.id)
  const some = ids.slice(0, 20).join(', ')
  return `\`${id}\` not found in ${kind}; available: ${some === '' ? 'none' : some}`
}

export function resourceOf(view: ConfigurationView, one: MergedResource, deps: ApiDeps) {
  const { references } = deps.configuration
  const own = view.baseline.resources.get(keyOf(one))
  const hide = (value: JsonValue) =>
    hideTexts(references.hide(one.kind, value), deps.secrets) as JsonValue
  return {
    ...summaryOf(one, view.merged.hidden.includes(one)),
    value: hide(one.value),
    baseline: own === undefined ? null : hide(own.value),
    provenance: one.provenance,
  }
}

function summaryOf(one: MergedResource, isHidden: boolean) {
  const { kind, id, origin, stored, drift } = one
  return {
    kind,
    id,
    origin,
    isHidden,
    etag: etagOf(one),
    revision: stored?.revision ?? null,
    author: stored?.author ?? null,
    time: stored?.time ?? null,
    drift,
  }
}

function outlineOf({ file, store }: Configuration, { baseline, merged }: ConfigurationView) {
  const { resources, hidden } = merged
  const count = (origin: string) => resources.filter((one) => one.origin === origin).length
  const counts = Object.fromEntries(
    RESOURCE_KINDS.map((kind) => [kind, resources.filter((one) => one.kind === kind).length]),
  )
  return {
    file,
    mode: store === undefined ? 'readonly' : 'database',
    revision: store?.state.revision ?? 0,
    digest: baseline.digest,
    counts,
    edits: {
      merged: count('merged'),
      added: count('database'),
      hidden: hidden.length,
      drifted: [...resources, ...hidden].filter(({ drift }) => drift.length > 0).length,
    },
  }
}

/** The whole configuration without secrets: by schema for resources, by name for `config`. */
function shown(configuration: unknown, { configuration: { references }, secrets }: ApiDeps) {
  const copy: Record<string, unknown> = { ...(configuration as object) }
  const { config } = copy
  if (config !== undefined) copy['config'] = hideCredentials(config)
  for (const { kind, id, value } of resourcesOf(configuration).values()) {
    const hidden = references.hide(kind, value)
    if (hidden === value) continue
    const section = copy[kind]
    if (Array.isArray(section)) {
      copy[kind] = section.map((item) => (item === value ? hidden : item))
    } else if (section === value) copy[kind] = hidden
    else copy[kind] = { ...(section as object), [id]: hidden }
  }
  return hideTexts(copy, secrets)
}

/** For process settings: a database has a password, a session a key. */
function hideCredentials(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(hideCredentials)
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      const isSecret = typeof member === 'string' && (key === 'url' || isCredentialName(key))
      return [key, isSecret ? HIDDEN : hideCredentials(member)]
    }),
  )
}

function hideTexts(value: unknown, texts: readonly string[]): unknown {
  if (typeof value === 'string') {
    return texts.some((secret) => value.includes(secret)) ? '(secret)' : value
  }
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => hideTexts(item, texts))
  const entries = Object.entries(value).map(([key, member]) => [key, hideTexts(member, texts)])
  return Object.fromEntries(entries)
}

export function formattedAs(format: unknown, value: unknown): ApiReply {
  if (format !== 'yaml') return ok(value)
  return ok(stringify(value, { lineWidth: 100 }), { 'content-type': 'application/yaml' })
}
