import { Group, Stack, Text } from '@mantine/core'
import type { Guard } from '../api/shapes.ts'
import { ActionTag, Tag } from './tags.tsx'

/** The guards of one place, in the order of evaluation. */
export function Guards({ guards }: { readonly guards: readonly Guard[] }) {
  return (
    <Stack gap="xs">
      {guards.map((guard) => (
        <div key={`${guard.kind} ${guard.policy} ${guard.origin}`}>
          <Group gap={6}>
            <Text size="sm" fw={600} component="span">
              {guard.kind}
            </Text>
            <Text size="sm" c="dimmed" component="span">
              {guard.policy}, {guard.level}
            </Text>
            {guard.isInvalid ? <Tag tone="bad">Invalid: denies everything</Tag> : null}
            {guard.isEnforced ? null : (
              <Tag tone="warn">
                {guard.failsOpen === true
                  ? 'Fails open'
                  : guard.isConditional === true
                    ? 'By condition'
                    : 'Not enforced'}
              </Tag>
            )}
          </Group>
          <Stack gap={2} mt={2}>
            {guard.rules.map((rule) => (
              <Group key={`${rule.action} ${rule.expression}`} gap={6} wrap="nowrap" align="start">
                <ActionTag value={rule.action} />
                <span className="expression">{rule.expression}</span>
              </Group>
            ))}
          </Stack>
        </div>
      ))}
    </Stack>
  )
}
