import * as z from 'zod'
import type { PathMatch, ValueMatch } from '../../../model/route.ts'
import { oneOfKeys, regex, requestPath } from '../../../policies/schema.ts'

export const pathMatch = () =>
  oneOfKeys(
    z.strictObject({
      exact: requestPath().optional().describe('This path and no other.'),
      pathPrefix: requestPath().optional().describe('This path and all below it.'),
      regex: regex().optional().describe('Paths that the expression matches from end to end.'),
    }),
    ['exact', 'pathPrefix', 'regex'],
  ).transform(({ exact, pathPrefix, regex }): PathMatch => {
    if (exact !== undefined) return { kind: 'exact', value: exact }
    if (regex !== undefined) return { kind: 'regex', value: regex }
    // `/a/` and `/a` have the same paths below them.
    const prefix = (pathPrefix as string).replace(/(?<=.)\/+$/, '')
    return { kind: 'prefix', value: prefix }
  })

/** A header or a parameter: `value` is text, `{exact}` or `{regex}`. */
export const valueMatch = (name: z.ZodType<string>) =>
  z
    .strictObject({
      name: name.describe('Its name.'),
      value: z
        .union([
          z.string().max(8192),
          oneOfKeys(
            z.strictObject({
              exact: z.string().max(8192).optional().describe('This value and no other.'),
              regex: regex().optional().describe('Values that it matches from end to end.'),
            }),
            ['exact', 'regex'],
          ),
        ])
        .describe('Its value: the text itself, or `exact` or `regex`.'),
    })
    .transform(({ name, value }): ValueMatch => {
      if (typeof value === 'string') return { name, kind: 'exact', value }
      if (value.exact !== undefined) return { name, kind: 'exact', value: value.exact }
      return { name, kind: 'regex', value: value.regex as string }
    })
