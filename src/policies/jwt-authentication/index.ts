import { runSteps, type Step } from '../../exchange/step.ts'
import { compileAuthentication } from '../authenticator.ts'
import { type Attachments, type CompileContext, definePolicy, type Part } from '../define.ts'
import { openJwt } from './authenticator.ts'
import { protectedResource } from './protected-resource.ts'
import { type JwtAuthentication, jwtAuthentication as schema } from './schema.ts'

export const jwtAuthentication = definePolicy({
  kind: 'jwtAuthentication',
  schema,
  compile: (policies, context) =>
    policies.some(({ value }) => value.resourceMetadata !== undefined)
      ? compileResource(policies, context)
      : compileAuthentication(policies, context, openJwt),
})

function compileResource(policies: Attachments<JwtAuthentication>, context: CompileContext): Part {
  const steps = policies.flatMap((policy): readonly Step[] => {
    const { step } = compileAuthentication([policy], context, openJwt)
    const { resourceMetadata: metadata, providers } = policy.value
    if (step === undefined || metadata === undefined) return step === undefined ? [] : [step]
    const issuers = providers.map(({ issuer }) => issuer)
    return [protectedResource(metadata, issuers, step)]
  })
  return { step: (exchange) => runSteps(steps, exchange) }
}
