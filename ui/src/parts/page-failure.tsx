import { Alert, Button, Text } from '@mantine/core'
import { Component, type ReactNode } from 'react'

interface State {
  readonly error: Error | undefined
}

/** Limits a bug to one page, and reports it there. */
export class PageFailure extends Component<{ readonly children: ReactNode }, State> {
  override state: State = { error: undefined }

  static getDerivedStateFromError(error: Error): State {
    return { error }
  }

  override render(): ReactNode {
    const { error } = this.state
    if (error === undefined) return this.props.children
    return (
      <Alert color="red" variant="outline" title="This page failed" role="alert">
        <Text size="sm" mb="sm">
          {error.message}
        </Text>
        <Button size="xs" variant="default" onClick={() => location.reload()}>
          Reload
        </Button>
      </Alert>
    )
  }
}
