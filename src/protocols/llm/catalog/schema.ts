import * as z from 'zod'

/** US dollars per million tokens, as a decimal string: a double is not exact. */
const rate = z
  .string()
  .regex(/^(0|[1-9]\d{0,8})(\.\d{1,6})?$/, 'must be a decimal number with up to six decimals')

const rates = z
  .strictObject({
    input: rate.describe('Prompt tokens.'),
    output: rate.describe('Response tokens.'),
    cacheRead: rate.describe('Tokens read from the prompt cache; defaults to the input rate.'),
    cacheWrite: rate.describe('Tokens written to the prompt cache; defaults to the input rate.'),
    reasoning: rate.describe('Reasoning tokens; defaults to the output rate.'),
    inputAudio: rate.describe('Audio tokens in the prompt; defaults to the input rate.'),
    outputAudio: rate.describe('Audio tokens in the response; defaults to the output rate.'),
  })
  .partial()

const model = z.strictObject({
  rates: rates.optional().describe('Rates in US dollars per million tokens.'),
  tiers: z
    .array(
      z.strictObject({
        contextOver: z
          .int()
          .min(0)
          .describe('The rates apply to prompts with more tokens than this.'),
        rates: rates.describe('Rates that override the standard rates.'),
      }),
    )
    .max(16)
    .optional()
    .describe('Rates for long prompts.'),
  maxOutputTokens: z
    .int()
    .min(1)
    .optional()
    .describe('The maximum number of tokens in a response.'),
  tags: z.array(z.string().max(128)).max(64).optional().describe('Not used yet.'),
})

/** Model prices by provider, as in `config.modelCatalog`, inline or in a file. */
export const modelCatalog = z.strictObject({
  providers: z
    .record(
      z.string().min(1).max(256),
      z.strictObject({
        models: z.record(z.string().min(1).max(256), model).describe('Models by name.'),
      }),
    )
    .describe('Providers, by their name in the access log or by the name used in `provider`.'),
})

/** Returns the first problem in the text of a catalog, if any. */
export function checkCatalog(text: string): { message: string; hint: string } | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { message: 'the model catalog is not valid JSON', hint: 'write it as one JSON object' }
  }
  const [issue] = modelCatalog.safeParse(value).error?.issues ?? []
  if (issue === undefined) return undefined
  const place = issue.path.length === 0 ? '' : ` at \`${issue.path.join('.')}\``
  return {
    message: `the model catalog is invalid${place}: ${issue.message}`,
    hint: 'rates are decimal strings in US dollars per million tokens',
  }
}

export type ModelCatalog = z.infer<typeof modelCatalog>
export type CatalogModel = z.infer<typeof model>
export type Rates = z.infer<typeof rates>
