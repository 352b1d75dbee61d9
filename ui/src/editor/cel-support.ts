import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
} from '@codemirror/autocomplete'
import { type Diagnostic, linter } from '@codemirror/lint'
import type { Extension } from '@codemirror/state'
import { BOOL, STRING, type Type } from '../../../src/cel/check/types.ts'
import { showType } from '../../../src/cel/check/unify.ts'
import { compile, STAGES, type Stage } from '../../../src/cel/index.ts'
import { celLanguage } from './cel-language.ts'

const made = new Map<string, readonly Extension[]>()

/** What an expression must return; a rule is a bool that depends on the request alone. */
export type ResultName = 'rule' | 'bool' | 'string' | 'any'

const EXPECTED = {
  rule: { expect: BOOL, pure: true },
  bool: { expect: BOOL },
  string: { expect: STRING },
  any: {},
} as const

/** Highlighting, completion and the gateway's own checker for expressions of one stage. */
export function celSupport(stage: Stage, result: ResultName = 'rule'): readonly Extension[] {
  const known = made.get(`${stage} ${result}`)
  if (known !== undefined) return known
  const extensions = [
    celLanguage,
    linter((view) => checkRule(view.state.doc.toString(), stage, result), { delay: 250 }),
    autocompletion({ override: [(context) => completeCel(context, stage)], icons: false }),
  ]
  made.set(`${stage} ${result}`, extensions)
  return extensions
}

/** Returns the diagnostics that the gateway reports for a rule; positions are text offsets. */
export function checkRule(text: string, stage: Stage, result: ResultName = 'rule'): Diagnostic[] {
  if (text.trim() === '') {
    return [{ from: 0, to: text.length, severity: 'error', message: 'Write a condition.' }]
  }
  const options = { ...EXPECTED[result], backend: 'closures' } as const
  const { diagnostics } = compile(text, STAGES[stage], options)
  return diagnostics.map(({ code, severity, message, hint, excerpt }) => {
    const { start = 0, end = text.length } = excerpt ?? {}
    const from = Math.min(start, text.length)
    return {
      from,
      to: Math.max(from, Math.min(end, text.length)),
      severity,
      message: `${code}: ${message}${hint === undefined ? '' : `\n${hint}`}`,
    }
  })
}

/** Completes variables of the stage, fields of the value before the dot, and functions. */
export function completeCel(context: CompletionContext, stage: Stage): CompletionResult | null {
  const path = context.matchBefore(/[A-Za-z_][\w.]*/)
  if (path === null && !context.explicit) return null
  const words = (path?.text ?? '').split('.')
  const last = words.at(-1) ?? ''
  const from = context.pos - last.length
  const options = words.length > 1 ? membersOf(words.slice(0, -1), stage) : namesOf(stage)
  return { from, options, validFor: /^\w*$/ }
}

function namesOf(stage: Stage): Completion[] {
  const { variables, functions } = STAGES[stage]
  return [
    ...[...variables.values()].map(({ name, type, doc, set }) => ({
      label: name,
      type: 'variable',
      detail: showType(type),
      info: `${doc}. Set ${set}.`,
      boost: 2,
    })),
    ...[...functions]
      .filter(([name, { globals }]) => globals.length > 0 && /^[a-z][\w.]*$/i.test(name))
      .map(([name]) => ({ label: name, type: 'function', apply: `${name}(` })),
  ]
}

function membersOf(path: readonly string[], stage: Stage): Completion[] {
  const type = typeAt(path, stage)
  const fields: Completion[] =
    type?.kind === 'struct'
      ? [...type.fields].map(([label, field]) => ({
          label,
          type: 'property',
          detail: showType(field.type),
          info: `${field.doc}. Set ${field.set}.`,
          boost: 2,
        }))
      : []
  const methods = [...STAGES[stage].functions]
    .filter(([, { methods: own }]) => own.some(({ params }) => isFit(params[0], type)))
    .map(([name]) => ({ label: name, type: 'method', apply: `${name}(` }))
  return [...fields, ...(type?.kind === 'struct' ? [] : methods)]
}

function typeAt([first = '', ...rest]: readonly string[], stage: Stage): Type | undefined {
  let type = STAGES[stage].variables.get(first)?.type
  for (const step of rest) {
    if (type?.kind === 'struct') type = type.fields.get(step)?.type
    else if (type?.kind === 'map') type = type.value
    else return undefined
  }
  return type
}

function isFit(wanted: Type | undefined, given: Type | undefined): boolean {
  if (wanted === undefined || given === undefined) return true
  const isOpen = ({ kind }: Type) => kind === 'dyn' || kind === 'json' || kind === 'param'
  return isOpen(wanted) || isOpen(given) || wanted.kind === given.kind
}
