import { ROLES, type Role } from '../admin/callers.ts'
import { compile, environment, STAGES } from '../cel/index.ts'
import { readJson } from '../cel/values/json-read.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { AdminAuthSettings } from '../model/settings.ts'
import { expectation } from '../policies/expressions.ts'

/** The role of somebody with these claims. */
export type RoleOf = (claims: object) => Role | 'none'

/** There is no request to look at: a session outlives the one that it began with. */
const CLAIMS = environment({
  name: 'roles of the admin API',
  variables: [...STAGES.traffic.variables.values()].filter(({ name }) => name === 'jwt'),
})

/** An expression that fails gives nobody a role; one that cannot be compiled is reported. */
export function compileRoles(
  file: string,
  { roles }: AdminAuthSettings,
): RoleOf | readonly Diagnostic[] {
  const diagnostics: Diagnostic[] = []
  const tests = ROLES.toReversed().flatMap((role) => {
    const { [role]: text } = roles
    if (text === undefined) return []
    const field = `config.adminAuth.roles.${role}`
    const origin = { kind: 'object', object: file, field } as const
    const compiled = compile(text, CLAIMS, { ...expectation('rule'), origin })
    diagnostics.push(...compiled.diagnostics.filter(({ severity }) => severity === 'error'))
    const predicate = compiled.expression?.predicate()
    return predicate === undefined ? [] : [{ role, predicate }]
  })
  if (diagnostics.length > 0) return diagnostics
  return (claims) => {
    // As tokens of requests are read: integers are exact.
    const jwt = readJson(JSON.stringify(claims))
    const found = tests.find(({ predicate }) => predicate({ jwt }))
    return found?.role ?? 'none'
  }
}
