import type { Variables } from '../../cel/index.ts'
import { HeaderEdit, headerEdit } from '../../exchange/header-edit.ts'
import { type Reply, reply } from '../../exchange/reply.ts'
import { type Attachments, type CompileContext, type Part, variablesOf } from '../define.ts'
import { isFieldValue, textOf } from '../value-text.ts'
import type { DirectResponse } from './schema.ts'

const PLAIN = 'text/plain; charset=utf-8'
const FAILED = reply(500, 'expression-failed')

type Text = (variables: Variables) => string | undefined

export function compileDirectResponse(
  [policy]: Attachments<DirectResponse>,
  context: CompileContext,
): Part {
  const { status, body = '', bodyExpression, headers } = policy.value
  let isConstant = true
  const compileText = (field: string, text: string, result: 'string' | 'any'): Text => {
    const expression = context.compile(text, { policy, field, result })
    if (expression === undefined) return () => undefined
    if (expression.term.kind !== 'constant') isConstant = false
    const evaluate = expression.evaluate()
    return (variables) => textOf(evaluate(variables))
  }
  const fields = Object.entries(headers).map(([name, text]) => {
    return { name, read: compileText(`headers.${name}`, text, 'string') }
  })
  const bodyOf: Text =
    bodyExpression === undefined ? () => body : compileText('bodyExpression', bodyExpression, 'any')

  const respond = (variables: Variables): Reply => {
    const content = bodyOf(variables)
    if (content === undefined) return FAILED
    const set: { name: string; value: string }[] = []
    const unwritten: string[] = []
    let contentType = content === '' ? '' : PLAIN
    for (const { name, read } of fields) {
      const value = read(variables)
      if (value === undefined) continue
      if (!isFieldValue(value)) unwritten.push(name)
      else if (name.toLowerCase() === 'content-type') contentType = value
      else set.push({ name, value })
    }
    return {
      status,
      reason: 'direct-response',
      headers: new HeaderEdit([], []).lose(unwritten).with(headerEdit({ set })),
      body: content,
      contentType,
    }
  }

  const constant = isConstant ? respond({}) : undefined
  return { step: (exchange) => constant ?? respond(variablesOf(exchange)) }
}
