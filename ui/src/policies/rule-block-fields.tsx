import { Button, Group, Select, Stack, Text, Title } from '@mantine/core'
import type { ActionName } from '../api/shapes.ts'
import { celSupport, checkRule } from '../editor/cel-support.ts'
import { CodeEditor } from '../editor/code-editor.tsx'
import type { EditableRule, RuleBlock } from './rule-blocks.ts'

const ACTIONS: readonly ActionName[] = ['Deny', 'Require', 'Allow']

interface RuleBlockFieldsProps {
  readonly block: RuleBlock
  readonly onChange: (rules: readonly EditableRule[], mode: RuleBlock['mode']) => void
}

/** The rules in one place of a resource. */
export function RuleBlockFields({ block, onChange }: RuleBlockFieldsProps) {
  const { path, rules, mode, stage } = block
  const support = celSupport(stage)
  const name = path.join('.')
  const replace = (index: number, rule: EditableRule | undefined) =>
    onChange(
      rules.flatMap((own, at) => (at !== index ? [own] : rule === undefined ? [] : [rule])),
      mode,
    )
  return (
    <section aria-label={name}>
      <Group justify="space-between" align="end" mb="xs">
        <div>
          <Title order={2} size="h4">
            {name}
          </Title>
          <Text size="sm" c="dimmed">
            Evaluated at stage {stage}: Deny rules first, then every Require rule must pass, then
            one Allow rule must match.
          </Text>
        </div>
        <Select
          label="Mode"
          data={['Enforce', 'Audit']}
          value={mode}
          allowDeselect={false}
          onChange={(chosen) => onChange(rules, chosen === 'Audit' ? 'Audit' : 'Enforce')}
          w={130}
        />
      </Group>
      <Stack gap="sm">
        {rules.map((rule, index) => (
          <Group key={`${name} ${index}`} align="start" gap="xs">
            <Select
              aria-label={`Action of rule ${index + 1}`}
              data={[...ACTIONS]}
              value={rule.action}
              allowDeselect={false}
              onChange={(action) => replace(index, { ...rule, action: action as ActionName })}
              w={110}
            />
            <div style={{ flex: '1 1 16rem', minWidth: 0 }}>
              <CodeEditor
                label={`Condition of rule ${index + 1}`}
                value={rule.expression}
                onChange={(expression) => replace(index, { ...rule, expression })}
                extensions={support}
              />
              <Mistakes expression={rule.expression} stage={stage} />
            </div>
            <Button
              variant="default"
              aria-label={`Remove rule ${index + 1}`}
              onClick={() => replace(index, undefined)}
              disabled={rules.length === 1}
            >
              Remove
            </Button>
          </Group>
        ))}
        <Button
          variant="default"
          w="fit-content"
          onClick={() => onChange([...rules, { action: 'Allow', expression: '' }], mode)}
        >
          Add a rule
        </Button>
      </Stack>
    </section>
  )
}

/** Repeats diagnostics as text below the editor, because marks in it are easy to miss. */
function Mistakes({ expression, stage }: { expression: string; stage: RuleBlock['stage'] }) {
  return checkRule(expression, stage).map(({ message, severity }) => (
    <Text
      key={message}
      size="sm"
      c={severity === 'error' ? 'var(--bad)' : 'var(--warn)'}
      style={{ whiteSpace: 'pre-line' }}
    >
      {message}
    </Text>
  ))
}
