import type { CallWebhook } from '../../exchange/webhook.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import type { CompileContext } from '../define.ts'
import { sentKey } from '../service-credential.ts'
import { type Judge, judgeTexts, serviceCaller } from './guard-service.ts'
import type { Moderation } from './service-schemas.ts'

/** `POST /v1/moderations`, with all texts at once: one result for each. */
export function compileModeration(
  { model, host, policies, timeout }: Moderation,
  policy: ValidPolicy,
  context: CompileContext,
): CallWebhook {
  const credential = sentKey(policies.backendAuth?.key, 'authorization', 'Bearer ')
  const call = serviceCaller(context.connect(host, policy, '1.1'), credential, timeout)
  const judge: Judge = async (exchange, _, texts) => {
    const said = await call(exchange, '/v1/moderations', { model, input: texts })
    if ('detail' in said) return said
    const { results } = said.body as { readonly results?: unknown }
    if (!Array.isArray(results) || results.length !== texts.length) {
      return { detail: 'unexpected number of results' }
    }
    const flags = results.map((one) => (one as { readonly flagged?: unknown } | null)?.flagged)
    if (!flags.every((flag) => typeof flag === 'boolean'))
      return { detail: 'the response has no verdict' }
    return flags.includes(true) ? 'rejected' : 'passed'
  }
  return judgeTexts(judge)
}
