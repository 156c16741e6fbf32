package brew;

import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.net.URLDecoder;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.UnsupportedCallbackException;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerExtensionsValidatorCallback;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallback;

/**
 * Takes a token as Amazon MSK does: a presigned request for kafka-cluster:Connect, whose signature it computes anew.
 *
 * Source: Amazon MSK developer guide, "IAM access control"; AWS IAM user guide, "AWS Signature Version 4 for API requests".
 */
public final class IamTokenValidator implements AuthenticateCallbackHandler {
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'");
    private static final long LIFE_S = 900;

    private String accessKey;
    private String secretKey;
    private String region;

    @Override
    public void configure(Map<String, ?> configs, String mechanism, List<AppConfigurationEntry> entries) {
        accessKey = (String) configs.get("brew.iam.access.key");
        secretKey = (String) configs.get("brew.iam.secret.key");
        region = (String) configs.get("brew.iam.region");
    }

    @Override
    public void handle(Callback[] callbacks) throws UnsupportedCallbackException {
        for (Callback callback : callbacks) {
            if (callback instanceof OAuthBearerValidatorCallback validate) {
                try {
                    validate.token(checked(validate.tokenValue()));
                } catch (Exception wrong) {
                    System.err.println("IAM token refused: " + wrong);
                    validate.error("invalid_token", null, null);
                }
            } else if (!(callback instanceof OAuthBearerExtensionsValidatorCallback)) {
                throw new UnsupportedCallbackException(callback);
            }
        }
    }

    @Override
    public void close() {}

    private OAuthBearerToken checked(String token) throws Exception {
        require(!token.contains("="), "padding");
        String url = new String(Base64.getUrlDecoder().decode(token), StandardCharsets.US_ASCII);
        URI uri = URI.create(url);
        String host = "kafka." + region + ".amazonaws.com";
        require("https".equals(uri.getScheme()) && host.equals(uri.getHost()) && "/".equals(uri.getPath()), "address " + url);
        List<String> signed = new ArrayList<>();
        Map<String, String> query = new HashMap<>();
        for (String pair : uri.getRawQuery().split("&")) {
            String[] parts = pair.split("=", 2);
            require(query.put(parts[0], URLDecoder.decode(parts[1], StandardCharsets.UTF_8)) == null, "twice " + parts[0]);
            if (!parts[0].equals("X-Amz-Signature") && !parts[0].equals("User-Agent")) {
                signed.add(pair);
            }
        }
        require(query.containsKey("User-Agent"), "no user agent");
        require("kafka-cluster:Connect".equals(query.get("Action")), "action");
        require("AWS4-HMAC-SHA256".equals(query.get("X-Amz-Algorithm")), "algorithm");
        require("host".equals(query.get("X-Amz-SignedHeaders")), "headers");
        require(Long.toString(LIFE_S).equals(query.get("X-Amz-Expires")), "life " + query.get("X-Amz-Expires"));
        String time = query.get("X-Amz-Date");
        Instant made = LocalDateTime.parse(time, TIME).toInstant(ZoneOffset.UTC);
        Instant end = made.plusSeconds(LIFE_S);
        Instant now = Instant.now();
        require(now.isBefore(end) && now.isAfter(made.minusSeconds(60)), "time " + time);
        String scope = time.substring(0, 8) + "/" + region + "/kafka-cluster/aws4_request";
        require((accessKey + "/" + scope).equals(query.get("X-Amz-Credential")), "credential " + query.get("X-Amz-Credential"));

        Collections.sort(signed);
        String request = "GET\n/\n" + String.join("&", signed) + "\nhost:" + host + "\n\nhost\n" + sha256("");
        byte[] key = ("AWS4" + secretKey).getBytes(StandardCharsets.UTF_8);
        for (String part : scope.split("/")) {
            key = hmac(key, part);
        }
        String text = "AWS4-HMAC-SHA256\n" + time + "\n" + scope + "\n" + sha256(request);
        String signature = HexFormat.of().formatHex(hmac(key, text));
        require(signature.equals(query.get("X-Amz-Signature")), "signature");
        return new Checked(token, accessKey, made.toEpochMilli(), end.toEpochMilli());
    }

    private static void require(boolean right, String what) {
        if (!right) {
            throw new IllegalArgumentException(what);
        }
    }

    private static String sha256(String text) throws Exception {
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
        return HexFormat.of().formatHex(digest);
    }

    private static byte[] hmac(byte[] key, String text) throws Exception {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        return mac.doFinal(text.getBytes(StandardCharsets.UTF_8));
    }

    private record Checked(String value, String principalName, Long startTimeMs, long lifetimeMs) implements OAuthBearerToken {
        @Override
        public Set<String> scope() {
            return Set.of();
        }
    }
}
