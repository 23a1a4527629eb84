// SPDX-License-Identifier: Apache-2.0
/** Where the admin listener asks for a token. The answer sets a cookie that scripts cannot read. */
import { useState } from 'preact/hooks';
import { post } from '../api/http';
import { t } from '../state/language';

export function Login({ onDone }: { onDone: () => void }) {
  const [token, setToken] = useState('');
  const [error, setError] = useState('');
  const submit = async (e: Event) => {
    e.preventDefault();
    try {
      await post('/api/v1/login', { form: { token } });
      onDone();
    } catch (cause) {
      setError((cause as Error).message);
    }
  };
  return (
    <main class="login">
      <h1>Inferometer</h1>
      <form onSubmit={submit}>
        <label>{t('login.token')} <input type="password" autocomplete="current-password" required value={token} onInput={(e) => setToken(e.currentTarget.value)} /></label>
        <button type="submit">{t('login.enter')}</button>
        {error && <p role="alert" class="state-error">{t('login.refused')} {error}</p>}
      </form>
    </main>
  );
}
