import { Button, Group, Stack, Text, Title } from '@mantine/core'
import { useState } from 'react'
import type { ActionName, Condition, Explained, ExplainedRule } from '../api/shapes.ts'
import { ActionTag, Tag, type Tone } from '../parts/tags.tsx'

const ORDER: readonly ActionName[] = ['Deny', 'Require', 'Allow']
const OUTCOMES: Readonly<Record<string, readonly [Tone, string]>> = {
  forwarded: ['good', 'Forwarded to the backend'],
  answered: ['good', 'The gateway responds itself'],
  denied: ['bad', 'Denied'],
  rejected: ['bad', 'Rejected'],
  closed: ['bad', 'The connection is closed'],
  'no-route': ['warn', 'No route matches'],
  'not-served': ['warn', 'Admitted, but not served'],
  'not-known': ['warn', 'Not known'],
}

/** Shows stages in evaluation order: Deny, Require, Allow; optionally one rule at a time. */
export function Steps({ explained }: { readonly explained: Explained }) {
  const { outcome, status, reason, stages, route, notes } = explained
  const [tone, words] = OUTCOMES[outcome] ?? ['quiet', outcome]
  const rules = stages.flatMap((stage) => inOrder(stage.rules))
  const [at, setAt] = useState<number>()
  const current = at === undefined ? undefined : rules[at]
  return (
    <Stack gap="md">
      <Group gap="sm" role="status">
        <Tag tone={tone}>{words}</Tag>
        <Text>
          {route === '' ? '' : `Route ${route}. `}
          {status === undefined ? '' : `Status ${status}.`}
          {outcome === 'not-known' ? reason : ''}
        </Text>
      </Group>
      {notes.map((note) => (
        <Text key={note} size="sm" c="dimmed">
          {note}
        </Text>
      ))}
      {rules.length === 0 ? (
        <Text c="dimmed">No rules apply to this request.</Text>
      ) : (
        <Group>
          <Button
            size="xs"
            variant="default"
            onClick={() => setAt(at === undefined ? 0 : Math.min(rules.length - 1, at + 1))}
          >
            {at === undefined ? 'Step through' : 'Next rule'}
          </Button>
          <Button
            size="xs"
            variant="default"
            disabled={at === undefined || at === 0}
            onClick={() => setAt(Math.max(0, (at ?? 0) - 1))}
          >
            Previous rule
          </Button>
          <Text size="sm" aria-live="polite">
            {current === undefined
              ? `${rules.length} rules`
              : `Rule ${(at ?? 0) + 1} of ${rules.length}: ${current.action} is ${valueWords(current)}`}
          </Text>
        </Group>
      )}
      {stages.map((stage, index) => (
        <section key={index} aria-label={`Stage ${stage.stage}`}>
          <Group gap="xs" mb={6}>
            <Title order={2} size="h4">
              {stage.stage}
            </Title>
            <Tag tone={stage.verdict === 'denied' ? 'bad' : 'good'}>{stage.verdict}</Tag>
            <Text size="sm" c="dimmed" component="span">
              {stage.cause.replaceAll('-', ' ')}
            </Text>
          </Group>
          <Stack gap="xs">
            {inOrder(stage.rules).map((rule) => (
              <Rule
                key={`${rule.origin} ${rule.expression}`}
                rule={rule}
                isDeciding={stage.rules[stage.deciding] === rule}
                isCurrent={rule === current}
                isLater={at !== undefined && rules.indexOf(rule) > at}
              />
            ))}
          </Stack>
        </section>
      ))}
    </Stack>
  )
}

function inOrder(rules: readonly ExplainedRule[]): readonly ExplainedRule[] {
  return ORDER.flatMap((action) => rules.filter((rule) => rule.action === action))
}

interface RuleProps {
  readonly rule: ExplainedRule
  readonly isDeciding: boolean
  readonly isCurrent: boolean
  /** Whether stepping has not reached this rule yet; its values are hidden. */
  readonly isLater: boolean
}

function Rule({ rule, isDeciding, isCurrent, isLater }: RuleProps) {
  return (
    <div className={`box ${isCurrent ? 'box-current' : ''}`} data-value={String(rule.value)}>
      <Group gap={6} align="start" mb={4}>
        <ActionTag value={rule.action} />
        {isLater ? null : <Tag tone={effectTone(rule)}>{valueWords(rule)}</Tag>}
        {isDeciding && !isLater ? <Tag tone="warn">This rule decided</Tag> : null}
        {rule.mode === 'Audit' ? <Tag tone="quiet">Audit only</Tag> : null}
        <Text size="sm" c="dimmed" component="span">
          {rule.policy}
        </Text>
      </Group>
      <div className="expression">{rule.expression}</div>
      {isLater ? null : (
        <Stack gap={4} mt={6}>
          {rule.conditions.map((condition) => (
            <Atom key={condition.text} condition={condition} action={rule.action} />
          ))}
        </Stack>
      )}
    </div>
  )
}

interface AtomProps {
  readonly condition: Condition
  readonly action: ExplainedRule['action']
}

function Atom({ condition, action }: AtomProps) {
  const { text, value, why, operands } = condition
  return (
    <div className={`atom tone-${effectTone({ action, value })}`}>
      {text} {value === null ? `has no value${why === undefined ? '' : `: ${why}`}` : `is ${value}`}
      {operands.map((operand) => (
        <div key={operand.text}>
          {operand.text} {operand.value === null ? 'is missing' : `= ${operand.value}`}
        </div>
      ))}
    </div>
  )
}

/** By what it does to the request: that a Deny rule does not match is good. */
function effectTone({ action, value }: Pick<ExplainedRule, 'action' | 'value'>): Tone {
  return toneOf(action === 'Deny' && value !== null ? !value : value)
}

function toneOf(value: boolean | null): Tone {
  if (value === true) return 'good'
  return value === false ? 'bad' : 'warn'
}

function valueWords({ value, why }: ExplainedRule): string {
  if (value !== null) return String(value)
  return why === undefined ? 'without a value' : `without a value: ${why}`
}
