import { parse } from 'yaml'
import * as z from 'zod'
import type { JsonValue } from '../../model/json.ts'
import { redact } from '../../model/redact.ts'
import {
  type Change,
  type ChangeFailure,
  type ConfigurationView,
  etagOf,
} from '../../sources/database/configuration.ts'
import type { MergedResource } from '../../sources/database/merge.ts'
import {
  isResourceKind,
  RESOURCE_KINDS,
  type ResourceKind,
} from '../../sources/database/resource-kinds.ts'
import { nameIn, resourcesOf } from '../../sources/database/resources.ts'
import type { ChangeBy } from '../../sources/database/rows.ts'
import type { ChangeOutcome, Store } from '../../sources/database/store.ts'
import { readOnly, renderFailure } from './change-failures.ts'
import { findResource, formattedAs, resourceOf, resourceSchema, withView } from './config.ts'
import { type ApiReply, anyJson, type Call, type Endpoint, ok, problem } from './define.ts'
import type { ApiDeps } from './deps.ts'
import { diagnosticSchema } from './reports.ts'

const WITHOUT_NUL = /^[^\0]*$/
const id = z.string().min(1).max(512).regex(WITHOUT_NUL, 'a name must not contain a NUL character')

const change = z
  .discriminatedUnion('action', [
    z.strictObject({
      action: z.literal('set'),
      kind: z.enum(RESOURCE_KINDS),
      id,
      value: anyJson,
      ifMatch: z
        .string()
        .optional()
        .describe('The ETag of the resource that is changed; `none` for a new resource.'),
    }),
    z.strictObject({
      action: z.enum(['delete', 'revert']).describe('revert: restores the value of the baseline.'),
      kind: z.enum(RESOURCE_KINDS),
      id,
      ifMatch: z.string().optional().describe('The ETag of the resource that is changed.'),
    }),
  ])
  .meta({ id: 'Change' })

const changesSchema = z.array(change).min(1).max(10_000)

/** Changes for a dry run; without any, the running configuration is analyzed. */
export const proposedChanges = z
  .array(change)
  .max(10_000)
  .optional()
  .describe('Changes to the running configuration to evaluate; nothing is stored.')

const stored = z.object({ revision: z.int() }).meta({ id: 'Stored' })
const comment = z
  .string()
  .max(1_000)
  .regex(WITHOUT_NUL, 'a comment must not contain a NUL character')
  .default('')
  .describe('A comment for the history.')

const PRECONDITIONS = {
  'if-match': 'The ETag of the resource, or *; required if the resource exists.',
  'if-none-match': '*: store it only if the resource does not exist.',
}

export const CHANGE_ENDPOINTS: readonly Endpoint[] = [
  {
    method: 'PUT',
    path: '/api/config/resources/{kind}/{id}',
    summary: 'Stores a resource if the resulting configuration is valid.',
    role: 'editor',
    query: z.object({ comment: comment }),
    headers: PRECONDITIONS,
    body: anyJson,
    responses: { 200: { description: 'The stored resource.', schema: resourceSchema } },
    run: (call, deps) =>
      changeOne(call, deps, (own) => ({ ...own, action: 'set', value: call.body as JsonValue })),
  },
  {
    method: 'DELETE',
    path: '/api/config/resources/{kind}/{id}',
    summary: 'Deletes a resource, including one from the baseline, or reverts it to the baseline.',
    role: 'editor',
    query: z.object({
      comment: comment,
      to: z.enum(['nothing', 'baseline']).default('nothing').describe('The remaining resource.'),
    }),
    headers: PRECONDITIONS,
    responses: { 200: { description: 'Deleted.', schema: stored } },
    run: (call, deps) =>
      changeOne(call, deps, (own) => ({
        ...own,
        action: call.query['to'] === 'baseline' ? 'revert' : 'delete',
      })),
  },
  {
    method: 'POST',
    path: '/api/config/changes',
    summary: 'Stores several changes atomically.',
    role: 'editor',
    body: z.strictObject({ changes: changesSchema, comment }),
    responses: { 200: { description: 'The changes are stored.', schema: stored } },
    run: async (call, deps) => {
      const { changes, comment: text } = call.body as {
        readonly changes: readonly Change[]
        readonly comment: string
      }
      return writing(deps, async (store) => {
        const by = { author: call.caller.name, action: 'change', comment: text }
        const outcome = await deps.configuration.write(store, changes, by)
        return replyTo(outcome, deps, ({ revision }) => ok({ revision }))
      })
    },
  },
  {
    method: 'POST',
    path: '/api/config/validate',
    summary: 'Validates the configuration with these changes; stores nothing.',
    role: 'viewer',
    body: z.strictObject({ changes: proposedChanges }),
    responses: {
      200: {
        description: 'Messages.',
        schema: z
          .object({ isValid: z.boolean(), diagnostics: z.array(diagnosticSchema) })
          .meta({ id: 'Validation' }),
      },
    },
    run: async (call, deps) => {
      const { changes = [] } = call.body as { readonly changes?: readonly Change[] }
      const view = deps.configuration.preview(changes)
      if ('why' in view) return renderFailure(view, deps)
      const diagnostics = await deps.configuration.validate(view)
      const isValid = !diagnostics.some(({ severity }) => severity === 'error')
      return ok(redact({ isValid, diagnostics }, { texts: deps.secrets }))
    },
  },
  {
    method: 'GET',
    path: '/api/config/history',
    summary: 'The history of changes, newest first, with values before and after.',
    role: 'viewer',
    query: z.object({
      kind: z.enum(RESOURCE_KINDS).optional().describe('Only this kind.'),
      id: z.string().optional().describe('Only this resource.'),
      before: z.coerce.number().int().min(0).optional().describe('Only revisions before this one.'),
      limit: z.coerce
        .number()
        .int()
        .min(1)
        .max(1_000)
        .default(100)
        .describe('The maximum number of entries.'),
    }),
    responses: {
      200: {
        description: 'One entry for each changed resource.',
        schema: z.object({
          entries: z.array(
            z
              .object({
                revision: z.int(),
                kind: z.enum(RESOURCE_KINDS),
                id: z.string(),
                action: z.string(),
                author: z.string(),
                comment: z.string(),
                time: z.string(),
                state: z.enum(['set', 'hidden', 'reset']),
                before: z.unknown(),
                after: z.unknown(),
              })
              .meta({ id: 'HistoryEntry' }),
          ),
        }),
      },
    },
    run: async ({ query }, { configuration }) => {
      const { store, references } = configuration
      if (store === undefined) return ok({ entries: [] })
      try {
        const found = await store.history(query as unknown as Parameters<Store['history']>[0])
        const entries = found.map((one) => ({
          ...one,
          before: references.hide(one.kind, one.before),
          after: references.hide(one.kind, one.after),
        }))
        return ok({ entries })
      } catch (error) {
        return problem(503, `cannot read the database: ${(error as Error).message}`)
      }
    },
  },
  {
    method: 'POST',
    path: '/api/config/rollback',
    summary: 'Restores the stored resources of a revision, as a new change.',
    role: 'editor',
    body: z.strictObject({
      revision: z.int().min(0).describe('0: no stored resources.'),
      comment,
    }),
    responses: { 200: { description: 'The restored state is stored.', schema: stored } },
    run: ({ body, caller }, deps) => {
      const { revision, comment: text } = body as { revision: number; comment: string }
      return writing(deps, async (store) => {
        const by = { author: caller.name, action: `rollback to ${revision}`, comment: text }
        const outcome = await deps.configuration.rollback(store, revision, by)
        return replyTo(outcome, deps, (done) => ok({ revision: done.revision }))
      })
    },
  },
  {
    method: 'GET',
    path: '/api/config/edits',
    summary:
      'The stored resources as part of a file that can be imported, without secrets; deleted ones are listed in comments.',
    role: 'viewer',
    query: z.object({ format: z.enum(['json', 'yaml']).default('yaml').describe('The format.') }),
    responses: {
      200: { description: 'The stored resources.', schema: z.string(), type: 'application/yaml' },
    },
    run: ({ query }, deps) =>
      withView(deps.configuration, (view) => {
        const reply = formattedAs(query['format'], editsOf(view, deps))
        if (query['format'] !== 'yaml') return reply
        return { ...reply, body: deletedLines(view) + String(reply.body) }
      }),
  },
  {
    method: 'POST',
    path: '/api/config/import',
    summary: 'Stores every resource of a file that differs from the current one.',
    role: 'editor',
    query: z.object({ comment: comment }),
    body: z.string().min(1),
    bodyType: 'application/yaml',
    responses: {
      200: {
        description: 'The number of stored resources.',
        schema: z.object({ revision: z.int(), stored: z.int() }),
      },
    },
    run: (call, deps) => importFile(call, deps),
  },
  {
    method: 'POST',
    path: '/api/config/rotate',
    summary: 'Encrypts stored secrets with the newest key, including the history.',
    role: 'admin',
    body: z.strictObject({}),
    responses: {
      200: {
        description: 'The number of encrypted secrets.',
        schema: z.object({ rotated: z.int() }),
      },
    },
    run: (_, deps) =>
      writing(deps, async (store) => {
        try {
          const rotated = await store.rotate()
          return { ...ok({ rotated }), audited: { rotated } }
        } catch (error) {
          return problem(503, `cannot write to the database: ${(error as Error).message}`)
        }
      }),
  },
]

async function writing(
  { configuration: { store } }: ApiDeps,
  use: (store: Store) => Promise<ApiReply>,
): Promise<ApiReply> {
  return store === undefined ? readOnly() : use(store)
}

type Own = { readonly kind: ResourceKind; readonly id: string; readonly ifMatch?: string }

function changeOne(
  call: Call,
  deps: ApiDeps,
  changeOf: (own: Own) => Change,
): Promise<ApiReply> | ApiReply {
  const { parts, query, request, caller } = call
  const { kind = '', id = '' } = parts
  if (!isResourceKind(kind)) {
    return problem(404, `unknown kind \`${kind}\`; available: ${RESOURCE_KINDS.join(', ')}`)
  }
  const { 'if-match': match, 'if-none-match': none } = request.headers
  if (none !== undefined && none.trim() !== '*') return problem(400, 'If-None-Match must be *')
  const ifMatch = none === undefined ? match : 'none'
  const wanted = changeOf({ kind, id, ...(ifMatch === undefined ? {} : { ifMatch }) })
  return writing(deps, async (store) => {
    const by: ChangeBy = {
      author: caller.name,
      action: wanted.action,
      comment: String(query['comment'] ?? ''),
    }
    const outcome = await deps.configuration.write(store, [wanted], by)
    return replyTo(outcome, deps, ({ revision }) => {
      if (wanted.action !== 'set') return ok({ revision })
      const view = deps.configuration.view()
      const now = view && findResource(view, kind, id)
      if (view === undefined || now === undefined) return ok({ revision })
      return ok(resourceOf(view, now, deps), { etag: etagOf(now) })
    })
  })
}

function replyTo(
  outcome: ChangeOutcome<ChangeFailure>,
  deps: ApiDeps,
  done: (stored: { readonly revision: number }) => ApiReply,
): ApiReply {
  switch (outcome.kind) {
    case 'stored':
      // The history has the values before and after this revision.
      return { ...done(outcome), audited: { revision: outcome.revision } }
    case 'failed':
      return renderFailure(outcome.failure, deps)
    case 'no-key':
      return problem(
        422,
        'the value contains a secret, but no encryption key is configured: set PORTCULLIS_STORAGE_KEY',
      )
    case 'unavailable': {
      const detail = outcome.isUnknown
        ? 'the database connection was lost while storing this: read the resource again to see whether it was stored'
        : 'nothing was stored because the database cannot be reached'
      return problem(503, `${detail}: ${outcome.detail}`, {}, { 'retry-after': '5' })
    }
  }
}

/** Stores only differences, so that importing an export stores nothing. */
function importFile(call: Call, deps: ApiDeps): Promise<ApiReply> | ApiReply {
  let imported: unknown
  try {
    imported = parse(call.body as string, { maxAliasCount: 100, uniqueKeys: true })
  } catch (error) {
    return problem(400, `the body is not YAML: ${(error as Error).message}`)
  }
  return withView(deps.configuration, (view) => {
    const there = new Map<string, MergedResource>(
      view.merged.resources.map((one) => [`${one.kind}/${one.id}`, one]),
    )
    const changes: Change[] = []
    for (const { kind, id, value } of resourcesOf(imported).values()) {
      if (Array.isArray((imported as Record<string, unknown>)[kind]) && nameIn(value) !== id) {
        return problem(422, `items of \`${kind}\` must have unique names: ${id}`)
      }
      const now = there.get(`${kind}/${id}`)
      const shown = now && deps.configuration.references.hide(kind, now.value)
      const isSame = [now?.value, shown].some(
        (one) => JSON.stringify(one) === JSON.stringify(value),
      )
      if (isSame) continue
      changes.push({
        action: 'set',
        kind,
        id,
        value,
        ifMatch: now === undefined ? 'none' : etagOf(now),
      })
    }
    if (changes.length === 0) {
      return ok({ revision: deps.configuration.store?.state.revision ?? 0, stored: 0 })
    }
    return writing(deps, async (store) => {
      const comment = String(call.query['comment'] ?? '')
      const by = { author: call.caller.name, action: 'import', comment }
      const outcome = await deps.configuration.write(store, changes, by)
      return replyTo(outcome, deps, ({ revision }) => ok({ revision, stored: changes.length }))
    })
  })
}

/** A file cannot delete anything, so deletions must be applied manually. */
function deletedLines({ merged: { hidden } }: ConfigurationView): string {
  return hidden.map(({ kind, id }) => `# deleted: ${JSON.stringify(`${kind}/${id}`)}\n`).join('')
}

function editsOf(view: ConfigurationView, deps: ApiDeps): Record<string, unknown> {
  const edits: Record<string, unknown> = {}
  for (const kind of RESOURCE_KINDS) {
    const own = view.merged.resources.filter((one) => one.kind === kind && one.stored !== undefined)
    if (own.length === 0) continue
    const values = own.map((one) => [one.id, resourceOf(view, one, deps).value] as const)
    if (kind === 'gateways') edits[kind] = Object.fromEntries(values)
    else if (['frontendPolicies', 'llm', 'mcp', 'ui'].includes(kind)) edits[kind] = values[0]?.[1]
    else edits[kind] = values.map(([, value]) => value)
  }
  return edits
}
