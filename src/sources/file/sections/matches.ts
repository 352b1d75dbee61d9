import * as z from 'zod'
import type { PathMatch, ValueMatch } from '../../../model/route.ts'
import { oneOfKeys, regex, requestPath } from '../../../policies/schema.ts'

export const pathMatch = () =>
  oneOfKeys(
    z.strictObject({
      exact: requestPath().optional().describe('Matches this path exactly.'),
      pathPrefix: requestPath().optional().describe('Matches this path and everything below it.'),
      regex: regex().optional().describe('A regular expression that must match the whole path.'),
    }),
    ['exact', 'pathPrefix', 'regex'],
  ).transform(({ exact, pathPrefix, regex }): PathMatch => {
    if (exact !== undefined) return { kind: 'exact', value: exact }
    if (regex !== undefined) return { kind: 'regex', value: regex }
    // `/a/` and `/a` match the same paths below them.
    const prefix = (pathPrefix as string).replace(/(?<=.)\/+$/, '')
    return { kind: 'prefix', value: prefix }
  })

/** A match for a header or parameter: `value` is a string, `{exact}` or `{regex}`. */
export const valueMatch = (name: z.ZodType<string>) =>
  z
    .strictObject({
      name: name.describe('The name.'),
      value: z
        .union([
          z.string().max(8192),
          oneOfKeys(
            z.strictObject({
              exact: z.string().max(8192).optional().describe('Matches this value exactly.'),
              regex: regex()
                .optional()
                .describe('A regular expression that must match the whole value.'),
            }),
            ['exact', 'regex'],
          ),
        ])
        .describe('The value: a string, or `exact` or `regex`.'),
    })
    .transform(({ name, value }): ValueMatch => {
      if (typeof value === 'string') return { name, kind: 'exact', value }
      if (value.exact !== undefined) return { name, kind: 'exact', value: value.exact }
      return { name, kind: 'regex', value: value.regex as string }
    })
