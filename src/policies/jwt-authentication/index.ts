import { runSteps, type Step } from '../../exchange/step.ts'
import { compileAuthentication } from '../authenticator.ts'
import { type Attachments, type CompileContext, definePolicy, type Part } from '../define.ts'
import { openJwt } from './authenticator.ts'
import { ServerMetadata, serverFront } from './authorization-server.ts'
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
    const { resourceMetadata: metadata, providers, authorizationServer: server } = policy.value
    if (step === undefined || metadata === undefined) return step === undefined ? [] : [step]
    const issuers = providers.map(({ issuer }) => issuer)
    if (server === undefined) return [protectedResource(metadata, issuers, step)]
    const kept = context.kept(policy, () => new ServerMetadata(), 'server-metadata')
    const ask = context.connect(server.target, policy, '1.1')
    const front = serverFront({ server, metadata: kept, ask, now: context.now })
    return [protectedResource(metadata, issuers, step, front)]
  })
  return { step: (exchange) => runSteps(steps, exchange) }
}
