import type { CallWebhook } from '../../exchange/webhook.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import type { CompileContext } from '../define.ts'
import { sentAzureToken, sentKey } from '../service-credential.ts'
import { type Judge, judgeTexts, serviceCaller } from './guard-service.ts'
import type { ContentSafety } from './service-schemas.ts'

/** Max characters of one request; longer texts are split. */
const MAX_TEXT = 10_000
/** Chunks overlap by this much, so that content at a split is complete in one of them. */
const OVERLAP = 500

const IMPLICIT = { kind: 'implicit' } as const

/** Azure AI Content Safety: one request for each text and each check. */
export function compileContentSafety(
  { endpoint, analyzeText, detectJailbreak, policies, timeout }: ContentSafety,
  policy: ValidPolicy,
  context: CompileContext,
): CallWebhook {
  const { key, azure = IMPLICIT } = policies.backendAuth ?? {}
  const credential =
    key === undefined
      ? sentAzureToken(azure, policy, context)
      : sentKey(key, 'ocp-apim-subscription-key', '')
  const call = serviceCaller(context.connect(endpoint, policy, '1.1'), credential, timeout)
  const judge: Judge = async (exchange, phase, texts) => {
    for (const text of texts.flatMap(piecesOf)) {
      if (analyzeText !== undefined) {
        const { apiVersion, severityThreshold, ...lists } = analyzeText
        const path = `/contentsafety/text:analyze?api-version=${apiVersion}`
        const said = await call(exchange, path, { text, ...lists })
        if ('detail' in said) return said
        const isHarmful = harmOf(said.body, severityThreshold)
        if (isHarmful === undefined) return { detail: 'the response has no analysis' }
        if (isHarmful) return 'rejected'
      }
      if (detectJailbreak !== undefined && phase === 'request') {
        const path = `/contentsafety/text:detectJailbreak?api-version=${detectJailbreak.apiVersion}`
        const said = await call(exchange, path, { text })
        if ('detail' in said) return said
        const { jailbreakAnalysis: found } = said.body as { jailbreakAnalysis?: unknown }
        const detected = (found as { readonly detected?: unknown } | null | undefined)?.detected
        if (typeof detected !== 'boolean') return { detail: 'the response has no analysis' }
        if (detected) return 'rejected'
      }
    }
    return 'passed'
  }
  return judgeTexts(judge)
}

/** Splits between characters, not within a surrogate pair. */
function piecesOf(text: string): readonly string[] {
  const letters = [...text]
  if (letters.length <= MAX_TEXT) return [text]
  const pieces: string[] = []
  for (let at = 0; at < letters.length; at += MAX_TEXT - OVERLAP) {
    pieces.push(letters.slice(at, at + MAX_TEXT).join(''))
    if (at + MAX_TEXT >= letters.length) break
  }
  return pieces
}

/** Undefined: the body is not an analysis. */
function harmOf(body: object, threshold: number): boolean | undefined {
  const { categoriesAnalysis: categories, blocklistsMatch: matches = [] } = body as {
    readonly categoriesAnalysis?: unknown
    readonly blocklistsMatch?: unknown
  }
  if (!Array.isArray(categories) || !Array.isArray(matches)) return undefined
  if (matches.length > 0) return true
  const severities = categories.map((one) =>
    Number((one as { severity?: unknown } | null)?.severity),
  )
  if (severities.some(Number.isNaN)) return undefined
  return severities.some((severity) => severity >= threshold)
}
