import * as z from 'zod'
import { issue } from '../../../policies/schema.ts'

/** The built-in labels of request metrics, and the labels that the format reserves. */
const OWN_LABELS: ReadonlySet<string> = new Set([
  'le',
  'listener',
  'method',
  'quantile',
  'reason',
  'route',
  'status',
])

export const labelName = () =>
  z
    .string()
    .max(64)
    .check(({ value, issues }) => {
      const isWell = /^[a-zA-Z_][a-zA-Z0-9_]*$/.test(value) && !value.startsWith('__')
      if (isWell && !OWN_LABELS.has(value)) return
      const hint = isWell
        ? 'choose another name: this one is reserved'
        : 'use letters, digits and underscores, not starting with a digit or `__`'
      const message = `\`${value}\` is not a valid label name`
      issues.push(issue(value, message, { rule: 'malformed', hint }))
    })
