import { renderOrigin } from '../../diagnostics/render.ts'
import { redact } from '../../model/redact.ts'
import { type ChangeFailure, etagOf } from '../../sources/database/configuration.ts'
import type { MergedResource } from '../../sources/database/merge.ts'
import { isResourceKind } from '../../sources/database/resource-kinds.ts'
import { type ApiReply, problem } from './define.ts'
import type { ApiDeps } from './deps.ts'

export function readOnly(): ApiReply {
  return problem(
    403,
    'this gateway is read-only: edit its file, or set `config.storage.mode: database`',
  )
}

/** Renders why a change was not stored, with a hint at the fix. */
export function renderFailure(failure: ChangeFailure, deps: ApiDeps): ApiReply {
  const { references } = deps.configuration
  const versionOf = (one: MergedResource) => ({
    etag: etagOf(one),
    value: references.hide(one.kind, one.value),
    author: one.stored?.author ?? null,
    time: one.stored?.time ?? null,
  })
  switch (failure.why) {
    case 'unreadable':
      return problem(503, 'cannot read the configuration file: see the log of the gateway')
    case 'not-found':
      return problem(404, `${failure.key} not found`)
    case 'unconditional':
      return problem(
        428,
        `${failure.key} exists: send If-Match with its ETag to avoid overwriting other edits`,
        { current: versionOf(failure.now) },
      )
    case 'conflict': {
      const { key, now, wanted } = failure
      const [kind = ''] = key.split('/')
      const detail =
        now === undefined ? `${key} no longer exists` : `${key} has changed since you read it`
      const current = now === undefined ? null : versionOf(now)
      const yours = isResourceKind(kind) ? references.hide(kind, wanted) : null
      return problem(412, detail, { current, yours })
    }
    case 'unknown-secret':
      return problem(
        422,
        `${failure.key} refers to a secret that it no longer has: read it again, or send the secret itself`,
      )
    case 'other-name': {
      const { key, name = '' } = failure
      return problem(422, `the name in the value, \`${name}\`, does not match ${key}`)
    }
    case 'unnamed':
      return problem(
        409,
        `${failure.key} has no name in the file, so an edit cannot refer to it: add a name in the file first`,
      )
    case 'no-revision':
      return problem(404, `revision ${failure.revision} not found`)
    case 'invalid': {
      const { diagnostics } = redact({ diagnostics: failure.diagnostics }, { texts: deps.secrets })
      const [first] = diagnostics
      const where = first === undefined ? '' : ` (${renderOrigin(first.origin)})`
      const detail = `the configuration would be invalid: ${first?.message ?? ''}${where}`
      return problem(422, detail, { diagnostics })
    }
  }
}
