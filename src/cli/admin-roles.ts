import { ROLES, type Role } from '../admin/callers.ts'
import { compile, environment, STAGES } from '../cel/index.ts'
import { readJson } from '../cel/values/json-read.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { AdminAuthSettings } from '../model/settings.ts'
import { expectation } from '../policies/expressions.ts'

/** Returns the role of a user with these claims. */
export type RoleOf = (claims: object) => Role | 'none'

/** Only claims are available: a session outlives the request that started it. */
const CLAIMS = environment({
  name: 'roles of the admin API',
  variables: [...STAGES.traffic.variables.values()].filter(({ name }) => name === 'jwt'),
})

/** An expression that fails grants no role; compile errors are reported. */
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
    // Converted like the tokens of requests: integers are exact.
    const jwt = readJson(JSON.stringify(claims))
    const found = tests.find(({ predicate }) => predicate({ jwt }))
    return found?.role ?? 'none'
  }
}
