import { HeaderEdit, headerEdit } from '../../exchange/header-edit.ts'
import { type Attachments, type CompileContext, type Part, variablesOf } from '../define.ts'
import { editResponse } from '../header-steps.ts'
import { textOf } from '../value-text.ts'
import type { ResponseHeaders } from './schema.ts'

export function compileResponseHeaders(
  [policy]: Attachments<ResponseHeaders>,
  context: CompileContext,
): Part {
  const { compute = {}, ...changes } = policy.value
  const step = editResponse(headerEdit(changes))
  const computed = Object.entries(compute).map(([name, text]) => {
    const place = { policy, field: `compute.${name}`, result: 'any', stage: 'response' } as const
    return [name, context.compile(text, place)?.evaluate()] as const
  })
  if (computed.length === 0) return { step }
  const names = computed.map(([name]) => name.toLowerCase())
  return {
    step,
    response: (exchange, draft) => {
      const variables = variablesOf(exchange)
      const added: [string, string][] = []
      for (const [name, evaluate] of computed) {
        const value = textOf(evaluate?.(variables))
        if (value !== undefined) added.push([name, value])
      }
      draft.change(new HeaderEdit(names, added))
      return undefined
    },
  }
}
