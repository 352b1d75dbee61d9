import { Button, Container, PasswordInput, Stack, Text, Title } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { type ApiProblem, call, storeToken } from './api/client.ts'

/** Bound beyond loopback, the admin API wants a token, which the gateway printed. */
export function SignIn({ done }: { readonly done: () => void }) {
  const [token, setToken] = useState('')
  const [problem, setProblem] = useState<string>()
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    storeToken(token.trim())
    try {
      await call('/api/health')
      done()
    } catch (error) {
      const { status, message } = error as ApiProblem
      setProblem(status === 401 ? 'The gateway rejected this token.' : message)
    }
  }
  return (
    <Container size="xs" py="xl" component="main">
      <form onSubmit={submit}>
        <Stack>
          <Title order={1} size="h2">
            Sign in to Portcullis
          </Title>
          <Text>
            This gateway can be reached from other machines, so it asks who you are. It printed a
            token when it started; it is kept in this tab only.
          </Text>
          <PasswordInput
            label="Token"
            value={token}
            error={problem}
            onChange={(event) => setToken(event.currentTarget.value)}
            autoComplete="off"
            data-autofocus
          />
          <Button type="submit" disabled={token.trim() === ''}>
            Sign in
          </Button>
        </Stack>
      </form>
    </Container>
  )
}
