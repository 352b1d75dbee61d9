import { Stack, Text } from '@mantine/core'
import { useMemo } from 'react'
import { CodeEditor } from '../editor/code-editor.tsx'
import type { Kind } from '../forms/schema.ts'
import type { Mark } from './check-resource.ts'
import { nameOfPath } from './places.ts'
import { resourceLanguage } from './resource-language.ts'

interface TextPaneProps {
  readonly kind: Kind
  readonly id: string
  readonly text: string
  readonly onChange: (text: string) => void
  readonly marks: readonly Mark[]
  readonly isReadOnly: boolean
}

/** The text of a resource, with what the checker says below it. */
export function TextPane({ kind, id, text, onChange, marks, isReadOnly }: TextPaneProps) {
  const extensions = useMemo(() => resourceLanguage(kind, id), [kind, id])
  const diagnostics = useMemo(
    () =>
      marks.map(({ from, to, severity, code, message, hint }) => ({
        from,
        to,
        severity,
        message: `${code}: ${message}${hint === undefined ? '' : `\n${hint}`}`,
      })),
    [marks],
  )
  return (
    <Stack gap="xs">
      <CodeEditor
        label="Text as YAML"
        value={text}
        {...(isReadOnly ? {} : { onChange })}
        extensions={extensions}
        diagnostics={diagnostics}
        hasLineNumbers
        minHeight="8rem"
      />
      <Stack gap={4} component="ul" m={0} p={0} className="marks" aria-label="Messages">
        {marks.slice(0, 20).map(({ line, path, code, severity, message, hint }) => (
          <li key={`${line} ${code} ${message} ${nameOfPath(path)}`}>
            <Text
              size="sm"
              component="span"
              c={severity === 'error' ? 'var(--bad)' : 'var(--warn)'}
            >
              Line {line}
              {path.length === 0 ? '' : `, ${nameOfPath(path)}`}: {message}
            </Text>
            {hint === undefined ? null : (
              <Text size="sm" component="span" c="dimmed">
                {' '}
                {hint}
              </Text>
            )}
          </li>
        ))}
      </Stack>
    </Stack>
  )
}
