import { Alert, Button, Group, Loader, Stack, Text, Title } from '@mantine/core'
import { type ReactNode, useEffect, useRef } from 'react'
import type { ApiProblem } from '../api/client.ts'
import { useIsReadOnly } from '../health.ts'
import { type Role, useMay, useSession } from '../session.ts'

interface PageProps {
  readonly title: string
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** Focuses the heading when a page opens, so that screen readers announce it. */
export function Page({ title, lead, actions, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus({ preventScroll: true }), [])
  return (
    <Stack gap="md" maw={1200}>
      <Group justify="space-between" align="start">
        <Stack gap={4} flex="1 1 18rem">
          <Title order={1} size="h2" tabIndex={-1} ref={heading}>
            {title}
          </Title>
          {lead === undefined ? null : <Text c="dimmed">{lead}</Text>}
        </Stack>
        {actions}
      </Group>
      {children}
    </Stack>
  )
}

export function Loading({ label }: { readonly label: string }) {
  return (
    <Group role="status" gap="sm">
      <Loader size="sm" />
      <Text>{label} …</Text>
    </Group>
  )
}

interface ProblemProps {
  readonly problem: ApiProblem
  readonly retry?: () => void
}

const ADVICE: Readonly<Record<number, string>> = {
  0: 'Restart it; this page reconnects automatically.',
  403: 'Request a role with this permission, or use the command line on the machine itself.',
  412: 'It has been changed in the meantime: reload it and apply your change again.',
  429: 'Analyses run two at a time: wait a moment and try again.',
  503: 'Try again in a moment.',
}

export function Problem({ problem, retry }: ProblemProps) {
  const advice = ADVICE[problem.status]
  return (
    <Alert color="red" variant="outline" title="The operation failed" role="alert">
      <Stack gap="xs" align="start">
        <Text size="sm" className="expression">
          {problem.message}
        </Text>
        {advice === undefined ? null : <Text size="sm">{advice}</Text>}
        {retry === undefined ? null : (
          <Button size="xs" variant="default" onClick={retry}>
            Try again
          </Button>
        )}
      </Stack>
    </Alert>
  )
}

/** An empty state describes the content that will appear, and how to get it. */
export function Empty({
  title,
  children,
}: {
  readonly title: string
  readonly children: ReactNode
}) {
  return (
    <div className="box">
      <Title order={2} size="h4">
        {title}
      </Title>
      <Text component="div" c="dimmed" mt={4}>
        {children}
      </Text>
    </div>
  )
}

/** Replaces actions that require a role. */
export function RoleNote({ needs, to }: { readonly needs: Role; readonly to: string }) {
  const session = useSession()
  const isAllowed = useMay(needs)
  if (session === undefined || isAllowed) return null
  return (
    <Text size="sm" c="dimmed">
      You are signed in as {session.name} with the role {session.role}; you need the role {needs} to{' '}
      {to}.
    </Text>
  )
}

/** Replaces edit actions if edits cannot be stored. */
export function ReadOnlyNote({ file }: { readonly file?: string | undefined }) {
  if (useIsReadOnly() !== true) return null
  return (
    <Alert color="gray" variant="outline" title="This gateway is read-only">
      <Text size="sm">
        It serves {file === undefined ? 'a file' : <span className="expression">{file}</span>}. You
        can try changes here and see their effect; to make one, edit the file, and the gateway
        applies it at once. Set <span className="expression">config.storage.mode: database</span> to
        store changes here.
      </Text>
    </Alert>
  )
}
